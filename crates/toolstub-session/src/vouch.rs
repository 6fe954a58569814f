//! Telling stubs apart in messages that have no field for it.
//!
//! A text alone proves nothing: any tool can return one that reads like a stub. The store is asked.

use toolstub_core::{Reason, Receipt, Ref, RefForm, ToolResultId};
use toolstub_render::{ReadBack, Stub};
use toolstub_store::{ReadRequest, StoreError};

use crate::config::Style;
use crate::describe::{Look, read_back_stub, stub_again};
use crate::turn::Call;
use crate::{Session, SessionError};

/// A text that the call which it answers would have for a stub, as the store confirms.
#[derive(Debug)]
pub(crate) struct Vouched {
    pub(crate) receipt: Receipt,
    /// Why the stub was made, as it says.
    pub(crate) reason: Reason,
    /// How its ref is written.
    pub(crate) refs: RefForm,
    /// What was read back, where the reason is that.
    pub(crate) read_back: Option<ReadBack>,
}

impl Session {
    /// Whether a text has a stub's header that the store confirms, field by field, and the ref is that
    /// of what the call returned, or of what it read.
    pub(crate) async fn vouch(
        &self,
        text: &str,
        call: &Call,
    ) -> Result<Option<Vouched>, SessionError> {
        let Ok(stub) = Stub::parse(text) else { return Ok(None) };
        let reason = stub.reason.as_deref();
        let reason = Reason::ALL.into_iter().find(|known| reason == Some(known.as_str()));
        let reference = stub.reference.filter(|reference| reference.session() == self.id());
        let Some(((reason, reference), refs)) = reason.zip(reference).zip(stub.refs) else {
            return Ok(None);
        };
        let read_back = match reason {
            Reason::SourceRead => match self.read_of(call).await? {
                Some((read, part)) if read == reference => Some(part),
                _ => return Ok(None),
            },
            _ => None,
        };
        let receipt = match self.store().receipt(&reference).await {
            Ok(receipt) => receipt,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let metadata = receipt.metadata();
        // What a call shows of another's stub is no stub of its own.
        let own = ToolResultId::for_content(Some(&call.id), &metadata.sha256);
        let is_true = stub.kind == metadata.synopsis_kind
            && stub.original_chars == metadata.original_chars
            && stub.sha256 == Some(metadata.sha256.hex_prefix(16))
            && (read_back.is_some() || *reference.id() == own);
        Ok(is_true.then_some(Vouched { receipt, reason, refs, read_back }))
    }

    /// Whether a text is, character for character, the stub of something that the store holds.
    pub(crate) async fn is_own_stub(&self, text: &str, call: &Call) -> Result<bool, SessionError> {
        let Some(vouched) = self.vouch(text, call).await? else { return Ok(false) };
        let Vouched { receipt, reason, refs, read_back } = vouched;
        // It may have been written when the host's refs had another form.
        let look = Look { refs: &refs, ..self.look() };
        let again = match read_back {
            Some(part) => read_back_stub(&receipt, part, look),
            None => self.again(&receipt, reason, look).await?,
        };
        Ok(again == text)
    }

    /// The stub of a result that is stored, as it stands where the result was longer than the threshold.
    pub async fn stub(&self, reference: &Ref) -> Result<String, SessionError> {
        let receipt = self.store().receipt(reference).await?;
        self.again(&receipt, Reason::SingleThreshold, self.look()).await
    }

    async fn again(
        &self,
        receipt: &Receipt,
        reason: Reason,
        look: Look<'_>,
    ) -> Result<String, SessionError> {
        if look.config.style != Style::Head {
            return Ok(stub_again(receipt, reason, None, look));
        }
        // A character is shown as one or more: so many are all that a head can take.
        let limit = i128::from(receipt.metadata().preview_chars);
        let request = ReadRequest { limit, ..ReadRequest::default() };
        let start = self.store().read(receipt.reference(), &request).await?;
        Ok(stub_again(receipt, reason, Some(&start.bytes), look))
    }
}

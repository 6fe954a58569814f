//! Telling stubs apart in messages that have no field for it.
//!
//! A text alone proves nothing: any tool can return one that reads like a stub. The store is asked.

use toolstub_core::{Reason, Receipt, RefForm};
use toolstub_render::Stub;
use toolstub_store::{ReadRequest, StoreError};

use crate::Session;
use crate::config::Style;
use crate::describe::{Look, read_back_stub, stub_again};
use crate::read_back::{ReadBackCall, read_back};
use crate::turn::Call;

/// A text whose header is true of something that the store holds for this session.
#[derive(Debug)]
pub(crate) struct Vouched {
    pub(crate) receipt: Receipt,
    /// Why the stub was made, as it says.
    pub(crate) reason: Reason,
    /// How its ref is written.
    pub(crate) refs: Option<RefForm>,
    /// What was read back, where the call that the text answers is a retrieval tool's.
    pub(crate) read_back: Option<ReadBackCall>,
}

impl Session {
    /// Whether a text has a stub's header that the store confirms, field by field.
    pub(crate) async fn vouch(
        &self,
        text: &str,
        call: &Call,
    ) -> Result<Option<Vouched>, StoreError> {
        let Ok(stub) = Stub::parse(text) else { return Ok(None) };
        let reason = stub.reason.as_deref();
        let reason = Reason::ALL.into_iter().find(|known| reason == Some(known.as_str()));
        let reference = stub.reference.filter(|reference| reference.session() == self.id());
        let Some((reason, reference)) = reason.zip(reference) else { return Ok(None) };
        let receipt = match self.store().receipt(&reference).await {
            Ok(receipt) => receipt,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = receipt.metadata();
        let is_true = stub.kind == metadata.synopsis_kind
            && stub.original_chars == metadata.original_chars
            && stub.sha256 == Some(metadata.sha256.hex_prefix(16));
        let read_back = read_back(call, self.id(), self.config().default_read_chars());
        Ok(is_true.then_some(Vouched { receipt, reason, refs: stub.refs, read_back }))
    }

    /// Whether a text is, character for character, the stub of something that the store holds.
    pub(crate) async fn is_own_stub(&self, text: &str, call: &Call) -> Result<bool, StoreError> {
        let Some(vouched) = self.vouch(text, call).await? else { return Ok(false) };
        let Vouched { receipt, reason, refs, read_back } = vouched;
        // It may have been written when the host's refs had another form.
        let Some(refs) = refs else { return Ok(false) };
        let look = Look { refs: &refs, ..self.look() };
        let again = match (reason, read_back) {
            (Reason::SourceRead, Some(call)) => read_back_stub(&receipt, call.part, look),
            (Reason::SourceRead, None) => return Ok(false),
            _ if look.config.style == Style::Head => {
                // A character is shown as one or more: so many are all that a head can take.
                let limit = i128::from(receipt.metadata().preview_chars);
                let request = ReadRequest { limit, ..ReadRequest::default() };
                let start = self.store().read(receipt.reference(), &request).await?;
                stub_again(&receipt, reason, Some(&start.bytes), look)
            }
            _ => stub_again(&receipt, reason, None, look),
        };
        Ok(again == text)
    }
}

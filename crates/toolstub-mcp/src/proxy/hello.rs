//! A connection over HTTP that is begun again: where a server has been restarted, it knows no session of
//! before, and a client that speaks over streams says hello only once.

use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderValue};
use tokio::time::timeout;

use super::http::{CONNECTING, EVENTS, Remote, SESSION, is};
use super::message::Message;
use super::sse::Events;

/// The longest answer to a hello, in bytes.
const MAX_WELCOME: usize = 1 << 20;

/// How a client has begun.
#[derive(Debug, Clone, Default)]
pub(super) struct Hello {
    pub(super) initialize: Option<Bytes>,
    /// Its word that it has begun, once it has said that.
    pub(super) initialized: Option<Bytes>,
}

impl Remote {
    /// Begins a session in the place of one that has ended, as the client has begun; says whether there
    /// is one now. Of many that want that, one does it.
    pub(super) async fn renew(&self, ended: &HeaderValue) -> bool {
        let _alone = self.renewing.lock().await;
        let said = self.said();
        if said.session.as_ref() != Some(ended) {
            return true;
        }
        let begun =
            timeout(CONNECTING, self.begin_again(said.hello)).await.ok().flatten().is_some();
        if begun {
            tracing::info!("the MCP server has ended the session; another has begun");
            self.sessions.send_modify(|sessions| *sessions += 1);
        }
        begun
    }

    async fn begin_again(&self, hello: Hello) -> Option<()> {
        let response = self.post(None, HeaderMap::new(), hello.initialize?).await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let session = response.headers().get(SESSION).cloned();
        let version = welcome(response).await?;
        self.note(|said| {
            said.session.clone_from(&session);
            said.version = Some(version);
        });
        if let Some(initialized) = hello.initialized {
            let mut headers = HeaderMap::new();
            self.state_version(&mut headers);
            self.post(session.as_ref(), headers, initialized).await.ok()?;
        }
        Some(())
    }
}

/// The version that is the answer to a hello.
async fn welcome(mut response: Response) -> Option<String> {
    let is_stream = is(&response, EVENTS);
    let (mut events, mut body) = (Events::default(), Vec::new());
    let mut taken = 0;
    while let Some(chunk) = response.chunk().await.ok()? {
        taken += chunk.len();
        if taken > MAX_WELCOME {
            return None;
        }
        if !is_stream {
            body.extend_from_slice(&chunk);
            continue;
        }
        let version = events.take(&chunk).ok()?.iter().find_map(|frame| settled(frame));
        if version.is_some() {
            return version;
        }
    }
    settled(&body)
}

/// The version that an answer to a hello settles.
pub(super) fn settled(frame: &[u8]) -> Option<String> {
    let message = Message::parse(std::str::from_utf8(frame).ok()?)?;
    message.is_response().then(|| message.object("result")?.text("protocolVersion"))?
}

//! What others see of a store.

use std::process::Command;

use toolstub_storage_tests::FakeS3;
use toolstub_store::{ListRequest, ReadRequest};

use crate::place::{Place, fresh_name, servers};
use crate::{everything, lines, original, session, write};

#[tokio::test]
async fn a_root_that_was_copied_keeps_every_ref() {
    let fake = FakeS3::start();
    let place = Place::fake(&fake);
    let content = lines(100_000);
    let receipt = write(&place.store("here"), "call_1", &original(content.clone())).await;
    for key in fake.keys() {
        let copy = key.replacen("here/", "over/there/", 1);
        fake.insert(&copy, fake.object(&key).unwrap());
        fake.remove(&key);
    }
    let moved = place.store("over/there");
    let piece = moved.read(receipt.reference(), &everything()).await.unwrap();
    assert!(piece.bytes == content);
    assert_eq!(moved.list(&session(), &ListRequest::default()).await.unwrap().records.len(), 1);
    let gone = place.store("here").read(receipt.reference(), &ReadRequest::default()).await;
    assert!(gone.unwrap_err().to_string().starts_with("not found"));
}

/// Prints the keys below a prefix, and the bytes of the first output.
const LOOK: &str = "
import sys, boto3
from botocore.config import Config
endpoint, key, secret, bucket, prefix = sys.argv[1:]
s3 = boto3.client('s3', endpoint_url=endpoint, aws_access_key_id=key, aws_secret_access_key=secret,
                  region_name='us-east-1', config=Config(s3={'addressing_style': 'path'}))
keys = [there['Key'] for there in s3.list_objects_v2(Bucket=bucket, Prefix=prefix)['Contents']]
print('\\n'.join(keys))
output = next(key for key in keys if key.endswith('output.txt'))
print(s3.get_object(Bucket=bucket, Key=output)['Body'].read().decode())
";

#[tokio::test]
async fn another_client_sees_the_documented_layout() {
    let Some(place) = Place::real("seaweedfs") else { return };
    let prefix = format!("layout-{}", fresh_name());
    let store = place.store(&prefix);
    let receipt = write(&store, "call_1", &original("what a tool returned")).await;
    let looked = Command::new(servers().join("venv/bin/python"))
        .args(["-c", LOOK])
        .args(place.for_clients())
        .arg(format!("{prefix}/"))
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&looked.stderr);
    let folder = format!("{prefix}/sessions/s1/tool-results/{}", receipt.reference().id());
    let expected = format!("{folder}/metadata.json\n{folder}/output.txt\nwhat a tool returned\n");
    assert_eq!(String::from_utf8_lossy(&looked.stdout), expected, "{said}");
}

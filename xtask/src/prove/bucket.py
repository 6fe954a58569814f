"""What a bucket holds, asked by another client than the one that is tried.

bucket.py list BUCKET PREFIX             a JSON object: keys with sizes, unfinished uploads with their ids
                                         and whether an object beside them names that
bucket.py copy BUCKET PREFIX TO_BUCKET   copies the keys below the prefix, as they are
bucket.py fetch BUCKET PREFIX FOLDER     writes what is below the prefix to files below the folder
"""

import json
import os
import sys

import boto3
from botocore.config import Config

endpoint = os.environ.get("AWS_ENDPOINT") or os.environ.get("AWS_ENDPOINT_URL")
client = boto3.client(
    "s3",
    endpoint_url=endpoint,
    region_name=os.environ.get("AWS_REGION", "us-east-1"),
    config=Config(s3={"addressing_style": "path"}),
)
action, bucket, prefix = sys.argv[1:4]
pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
objects = [found for page in pages for found in page.get("Contents", [])]
if action == "list":
    answer = client.list_multipart_uploads(Bucket=bucket, Prefix=prefix)
    markers = [found["Key"] for found in objects if "#" in found["Key"] and found["Size"] < 10000]
    bodies = [client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in markers]
    named = {word.decode() for body in bodies for word in body.split()}
    uploads = [(found["Key"], found["UploadId"]) for found in answer.get("Uploads", [])]
    print(json.dumps({
        "keys": [[found["Key"], found["Size"]] for found in objects],
        "uploads": [[key, upload, upload in named] for key, upload in uploads],
    }))
elif action == "copy":
    target = sys.argv[4]
    if target not in [found["Name"] for found in client.list_buckets()["Buckets"]]:
        client.create_bucket(Bucket=target)
    for found in objects:
        client.copy({"Bucket": bucket, "Key": found["Key"]}, target, found["Key"])
elif action == "fetch":
    for found in objects:
        path = os.path.join(sys.argv[4], found["Key"].removeprefix(prefix))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        client.download_file(bucket, found["Key"], path)
else:
    sys.exit("unknown action " + action)

//! Each bound of the OpenAPI document is enforced by the door or its store: a value at the bound is accepted, and one
//! beyond it is refused with its location.

use crate::store::{PATIENCE, Store};
use serde_json::{Map, Value, json};
use ureq::Agent;

/// A bound of a member of a body: its location, a value at the bound, and a value beyond it.
struct Bound {
    pointer: String,
    on: Value,
    beyond: Value,
}

/// Refusals of rules that no schema can express: members that depend on each other.
const BESIDE: [&str; 5] = [
    "must be at most requested",
    "needs a unit",
    "begin is an hour 0 to 23 of a day",
    "is no time zone of the IANA database",
    "are for a period",
];

/// An OpenAPI document with its schemas.
struct Document(Value);

impl Document {
    fn of(store: &Store) -> Document {
        Document(serde_json::from_str(&store.get("/v1/openapi.json").1).expect("JSON"))
    }

    /// Resolves a schema: follows its reference, or takes its first branch.
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let named = schema["$ref"].as_str().and_then(|name| self.0.pointer(&name[1..]));
        let has_kinds = schema.get("discriminator").is_some();
        let branch = || schema["anyOf"].get(0).or_else(|| schema["oneOf"].get(0));
        let branch = || branch().filter(|_| !has_kinds);
        named.or_else(branch).map_or(schema, |schema| self.resolve(schema))
    }

    /// Returns a value that satisfies a schema, with all required members.
    fn sample(&self, schema: &Value) -> Value {
        let schema = self.resolve(schema);
        if schema.get("discriminator").is_some() {
            return self.sample(&schema["oneOf"][0]);
        }
        if let Some(word) = schema["enum"].get(0).or_else(|| schema["examples"].get(0)) {
            return word.clone();
        }
        match kind(schema) {
            "object" => {
                let required = schema["required"].as_array().into_iter().flatten();
                let names = required.filter_map(Value::as_str);
                let member =
                    |name: &str| (name.to_owned(), self.sample(&schema["properties"][name]));
                Value::Object(names.map(member).collect())
            }
            "array" => json!([self.sample(&schema["items"])]),
            "integer" => json!(schema["minimum"].as_i64().unwrap_or_default().max(1)),
            "boolean" => json!(false),
            _ => json!("x"),
        }
    }

    fn bounds(&self, schema: &Value, pointer: &str, found: &mut Vec<Bound>) {
        let schema = self.resolve(schema);
        if schema.get("discriminator").is_some() {
            // A command of a chain has the same schema as the single request, which is checked on its own.
            return;
        }
        let mut add = |on: Value, beyond: Value| {
            found.push(Bound { pointer: pointer.to_owned(), on, beyond });
        };
        if let Some(most) = schema["maximum"].as_i64() {
            add(json!(most), json!(i128::from(most) + 1));
        }
        if let Some(least) = schema["minimum"].as_i64().filter(|least| *least > i64::MIN) {
            add(json!(least), json!(least - 1));
        }
        if let Some(most) = schema["maxLength"].as_u64().and_then(|most| usize::try_from(most).ok())
        {
            let step = if schema["contentEncoding"] == "base64" { 4 } else { 1 };
            add(json!("A".repeat(most - step)), json!("A".repeat(most + step)));
        }
        if let Some(most) = schema["maxItems"].as_u64() {
            let many = |count| (0..count).map(|at| self.numbered(&schema["items"], at)).collect();
            add(Value::Array(many(most)), Value::Array(many(most + 1)));
        }
        if let Some(most) = schema["maxProperties"].as_u64() {
            let many = |count| (0..count).map(|at| (format!("k{at}"), json!("x"))).collect();
            add(Value::Object(many(most)), Value::Object(many(most + 1)));
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            self.bounds(member, &format!("{pointer}/{name}"), found);
        }
        if let Some(items) = schema.get("items") {
            self.bounds(items, &format!("{pointer}/0"), found);
        }
    }

    /// Returns an element of a list in which names must be unique.
    fn numbered(&self, schema: &Value, at: u64) -> Value {
        let mut element = self.sample(schema);
        for name in ["key", "bucket", "account"] {
            if element.get(name).is_some() {
                element[name] = json!(format!("n{at}"));
            }
        }
        if self.resolve(schema)["properties"].get("used").is_some() {
            element["used"] = json!(1);
        }
        element
    }

    /// Returns a body with this value at a location, made of the existing and the required members.
    fn placed(&self, schema: &Value, there: Option<&Value>, path: &[&str], value: &Value) -> Value {
        let Some((name, rest)) = path.split_first() else { return value.clone() };
        let schema = self.resolve(schema);
        let mut body = there.cloned().unwrap_or_else(|| self.sample(schema));
        let place = match body {
            Value::Array(_) => &schema["items"],
            _ => &schema["properties"][name],
        };
        let inner = self.placed(place, body.pointer(&format!("/{name}")), rest, value);
        match &mut body {
            Value::Array(list) => list[0] = inner,
            Value::Object(object) => drop(object.insert((*name).to_owned(), inner)),
            _ => unreachable!("a path leads through lists and objects"),
        }
        body
    }
}

fn kind(schema: &Value) -> &str {
    schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or_default()
}

/// Requests of the document, each on its own account.
struct Requests<'a> {
    store: &'a Store,
    agent: Agent,
    sent: usize,
}

impl Requests<'_> {
    /// Sends a request and returns status and body of the answer.
    fn send(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.sent += 1;
        let account = format!("a{}", self.sent);
        if (method, path) != ("put", "/v1/accounts/{account}") {
            let buckets = json!({"buckets": [{"bucket": "x", "unit": "x", "amount": 1}]});
            let (status, _) = self.ask("put", &format!("/v1/accounts/{account}"), &buckets);
            assert_eq!(status, 201);
        }
        let path = path.replace("{account}", &account);
        let part =
            |part: &str| if part.starts_with('{') { "x".to_owned() } else { part.to_owned() };
        let path: Vec<String> = path.split('/').map(part).collect();
        self.ask(method, &path.join("/"), body)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = ureq::http::Request::builder().method(&method.to_uppercase()[..]);
        let request = request.uri(self.store.url(path)).header("Idempotency-Key", "k");
        let request = request.header("Content-Type", "application/json");
        let mut answer =
            self.agent.run(request.body(body.to_string()).expect("a request")).expect("an answer");
        let text = answer.body_mut().read_to_string().expect("a body");
        (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or_default())
    }
}

/// Reports whether the answer refuses the value at this location, or within it.
fn refuses((status, body): &(u16, Value), pointer: &str) -> bool {
    let errors = body["errors"].as_array().into_iter().flatten();
    let mut places = errors.filter_map(|error| error["pointer"].as_str());
    let member = pointer.rsplit('/').find(|part| *part != "0").unwrap_or_default();
    let detail = body["detail"].as_str().unwrap_or_default();
    // Some errors name the option of the command.
    let option = member.replace('_', "");
    *status == 400
        && (places.any(|place| place.starts_with(pointer))
            || body.get("errors").is_none()
                && [member, &option].iter().any(|name| detail.contains(name)))
}

#[test]
fn every_bound_of_a_body_is_the_one_that_is_enforced() {
    let store = Store::start(&["--durability", "write"]);
    let document = Document::of(&store);
    let config = Agent::config_builder().http_status_as_error(false);
    let agent = config.timeout_global(Some(PATIENCE)).build().into();
    let mut requests = Requests { store: &store, agent, sent: 0 };
    let mut wrong = Vec::new();
    let empty = Map::new();
    let mut count = 0;
    for (path, item) in document.0["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().unwrap_or(&empty) {
            let content = &operation["requestBody"]["content"]["application/json"];
            let mut bounds = Vec::new();
            document.bounds(&content["schema"], "", &mut bounds);
            for Bound { pointer, on, beyond } in bounds {
                count += 1;
                let parts: Vec<&str> = pointer.split('/').skip(1).collect();
                // Members of an example may exclude others.
                let example = Some(&content["example"]);
                let there = example.filter(|example| example.get(parts[0]).is_some());
                let mut send = |value: &Value| {
                    let body = document.placed(&content["schema"], there, &parts, value);
                    (requests.send(method, path, &body), body)
                };
                let (answer, body) = send(&on);
                let detail = answer.1["detail"].as_str().unwrap_or_default();
                let is_beside = BESIDE.iter().any(|why| detail.contains(why));
                if refuses(&answer, &pointer) && !is_beside {
                    wrong
                        .push(format!("{method} {path} {pointer}: {body}: {}", answer.1["detail"]));
                }
                let (answer, body) = send(&beyond);
                if !refuses(&answer, &pointer) {
                    wrong.push(format!("{method} {path} {pointer}: {body} is taken: {answer:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "only {count} bounds were found");
}

/// The OpenAPI document of a store's door has the bounds of the store's settings.
#[test]
fn bounds_are_those_of_the_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("scurry.toml");
    let limits = "[limits]\ntcc_ms_max = 9000000\nvalidity_ms_default = 1000\nitems_max = 3\nblob_len_max = 4\n";
    std::fs::write(&file, limits).expect("a file");
    let store = Store::start(&["--config", file.to_str().expect("UTF-8")]);
    let document = Document::of(&store).0;
    let members = &document["components"]["schemas"]["SessionOpening"]["properties"];
    assert_eq!(members["tcc_ms"]["maximum"], 9_000_000);
    assert_eq!(members["validity_ms"]["maximum"], 9_000_000);
    assert_eq!(members["items"]["maxItems"], 3);
    assert_eq!(members["data"]["maxLength"], 8);
    let pattern = members["data"]["pattern"].as_str().expect("a pattern");
    assert_eq!(pattern.matches("{0,1}").count(), 1, "{pattern}");
}

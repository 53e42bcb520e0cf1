//! Witness files say nothing that is not looked at: what was read is written again and compared, so that
//! a key that nobody knows, a key that is there twice, or a value that was read as another one is refused.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use crate::file::BadWitness;

/// What older files have besides: how much an engine has visited, which no definition knows. It is read as a number, and
/// then forgotten.
const COUNTS: [&str; 3] = ["exhausted.states", "abstracted.states", "why.searched"];

/// The JSON of a file, in which no object has a key twice.
pub(crate) fn document(text: &str) -> Result<Json, BadWitness> {
    serde_json::from_str(text).map(|Once(json)| json).map_err(|e| BadWitness(e.to_string()))
}

/// Refuses a file that has something else than what was read from it, which is written as `again`. A key may be
/// missing that has a value without it.
pub(crate) fn nothing_else(file: &Json, again: &str) -> Result<(), BadWitness> {
    let again: Json = serde_json::from_str(again).map_err(|e| BadWitness(e.to_string()))?;
    same(file, &again, &mut Vec::new())
}

/// A step from a part of a document into it.
enum Into<'j> {
    Key(&'j str),
    Place(usize),
}

fn same<'j>(file: &'j Json, again: &Json, way: &mut Vec<Into<'j>>) -> Result<(), BadWitness> {
    match (file, again) {
        (Json::Object(file), Json::Object(again)) => file.iter().try_for_each(|(key, value)| {
            way.push(Into::Key(key));
            match again.get(key) {
                Some(again) => same(value, again, way)?,
                None if is_count(value, way) => {}
                None => return Err(bad(way, "no such key")),
            }
            way.pop();
            Ok(())
        }),
        (Json::Array(file), Json::Array(again)) if file.len() == again.len() => {
            file.iter().zip(again).enumerate().try_for_each(|(place, (file, again))| {
                way.push(Into::Place(place));
                same(file, again, way)?;
                way.pop();
                Ok(())
            })
        }
        _ if file == again || is_count(file, way) => Ok(()),
        _ => match again.to_string() {
            short if short.len() <= 40 => Err(bad(way, &format!("`{short}`"))),
            _ => Err(bad(way, "it as weakspot writes it")),
        },
    }
}

fn is_count(value: &Json, way: &[Into<'_>]) -> bool {
    match way {
        [.., Into::Key(of), Into::Key(key)] => {
            value.is_u64() && COUNTS.contains(&format!("{of}.{key}").as_str())
        }
        _ => false,
    }
}

fn bad(way: &[Into<'_>], expected: &str) -> BadWitness {
    let mut path = String::new();
    for step in way {
        match step {
            Into::Key(key) if path.is_empty() => path += key,
            Into::Key(key) => path += &format!(".{key}"),
            Into::Place(place) => path += &format!("[{place}]"),
        }
    }
    BadWitness(format!("{path}: expected {expected}"))
}

/// JSON in which no object has a key twice.
struct Once(Json);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Once, D::Error> {
        deserializer.deserialize_any(AnyJson).map(Once)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(Once(json)) = list.next_element()? {
            all.push(json);
        }
        Ok(Json::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut all = Map::new();
        while let Some((key, Once(json))) = object.next_entry::<String, Once>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` is there twice")));
            }
            all.insert(key, json);
        }
        Ok(Json::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, again: &str, expected: &str) {
        let found = document(file).and_then(|json| nothing_else(&json, again));
        assert_eq!(found.map_err(|why| why.to_string()), Err(expected.to_owned()), "{file}");
    }

    #[test]
    fn what_is_not_looked_at_is_refused() {
        let again = r#"{"a":{"b":[1,{"c":true}]},"exhausted":{}}"#;
        for good in [
            again,
            r#" {"exhausted" : {}, "a":{"b" : [1, {"c":true}]}}"#,
            r#"{"a":{"b":[1,{}]}}"#,
            r#"{"a":{"b":[1,{"c":true}]},"exhausted":{"states":7}}"#,
        ] {
            let json = document(good).expect("JSON");
            assert_eq!(nothing_else(&json, again), Ok(()), "{good}");
        }
        check(r#"{"note":1}"#, again, "note: expected no such key");
        check(r#"{"states":1}"#, again, "states: expected no such key");
        check(r#"{"a":{"b":[1,{"d":0}]}}"#, again, "a.b[1].d: expected no such key");
        check(r#"{"a":{"b":[1,{"c":false}]}}"#, again, "a.b[1].c: expected `true`");
        check(r#"{"a":{"b":[1]}}"#, again, "a.b: expected `[1,{\"c\":true}]`");
        check(r#"{"a":{"b":[1,[]]}}"#, again, "a.b[1]: expected `{\"c\":true}`");
        check(r#"{"exhausted":7}"#, again, "exhausted: expected `{}`");
        check(r#"{"exhausted":{"states":-7}}"#, again, "exhausted.states: expected no such key");
        check(
            r#"{"exhausted":{"states":7,"note":1}}"#,
            again,
            "exhausted.note: expected no such key",
        );
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(50));
        check(r#"{"a":"x"}"#, &long, "a: expected it as weakspot writes it");
    }

    #[test]
    fn keys_are_there_once() {
        let twice = r#"{"a":[{"b":1,"c":2,"b":1}]}"#;
        check(twice, "{}", "the key `b` is there twice at line 1 column 25");
        let all = r#"{"a":[null,true,-1,18446744073709551615,0.5,"\u00e9"],"b":{}}"#;
        assert_eq!(document(all).ok(), serde_json::from_str(all).ok());
    }
}

//! What the program shows of itself: a demonstration, completions, manual pages.

use super::{Home, exits, fails, json};

/// The commands that a demonstration shows, as words.
fn commands(shown: &str) -> Vec<Vec<String>> {
    let shown = shown.lines().filter_map(|line| line.strip_prefix("$ toolstub "));
    shown
        .map(|line| line.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect())
        .collect()
}

#[test]
fn demonstration_is_true() {
    let home = Home::new();
    let demo = home.run(&["demo"]);
    exits(&demo, 0);
    let shown = String::from_utf8(demo.stdout).unwrap();
    let commands = commands(&shown);
    assert_eq!(commands.len(), 3, "{shown}");
    for command in &commands {
        let words: Vec<_> = command.iter().map(String::as_str).collect();
        let output = home.run(&words);
        exits(&output, 0);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(&printed), "{command:?}: {printed}");
        assert!(words[0] == "rm" || printed.contains("\"payment_failed\""), "{printed}");
    }
    exits(&home.run(&["read", &commands[1][1]]), 1);
    // The example is the same each time, and everywhere.
    assert_eq!(String::from_utf8(home.run(&["demo"]).stdout).unwrap(), shown);
    let answer = json(&home.run(&["demo", "--json", "--session", "mine"]), 0);
    let reference = answer["ref"].as_str().unwrap();
    assert!(reference.starts_with("toolstub://session/mine/"), "{reference}");
    let original = home.run(&["read", reference, "--limit", "-1"]).stdout;
    let orders: serde_json::Value = serde_json::from_slice(&original).unwrap();
    assert_eq!(orders["orders"].as_array().unwrap().len(), orders["count"]);
    assert_eq!(answer["original_bytes"], original.len());
}

#[test]
fn shells_and_manuals_know_every_command() {
    let home = Home::new();
    let help = String::from_utf8(home.run(&["--help"]).stdout).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // What is told of a command goes on further to the right.
    let listed = listed.filter(|line| !line.starts_with("   "));
    let names: Vec<_> = listed
        .map_while(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() >= 19, "{names:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = home.run(&["completions", shell]);
        exits(&output, 0);
        let script = String::from_utf8(output.stdout).unwrap();
        for name in &names {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    let program = home.run(&["man"]);
    exits(&program, 0);
    let page = String::from_utf8(program.stdout).unwrap();
    for name in &names {
        assert!(page.contains(&format!("toolstub\\-{name}(1)")), "{name}");
        let output = home.run(&["man", name]);
        exits(&output, 0);
        let page = String::from_utf8(output.stdout).unwrap();
        assert!(page.contains(&format!(".TH toolstub-{name} 1")), "{name}");
    }
    fails(&home.run(&["man", "--json", "bogus"]), 2, "INVALID_ARGUMENT", "there are stub, put");
    exits(&home.run(&["completions", "tcsh"]), 2);
}

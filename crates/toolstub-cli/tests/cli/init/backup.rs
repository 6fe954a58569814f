//! What `init` keeps of the files that it changes, and what it does not touch.

use std::fs;

use super::{FILES, file, text};
use crate::{Home, exits, fails};

#[test]
fn no_backup_takes_the_place_of_a_file() {
    let home = Home::new();
    let path = file(&home, ".claude/settings.json", "{\"model\": \"opus\"}");
    let theirs = file(&home, ".claude/settings.json.bak", "of another tool");
    let ours = home.path().join(".claude/settings.json.bak.1");
    exits(&home.run(&["init", "claude"]), 0);
    assert_eq!(text(&theirs), "of another tool");
    assert_eq!(text(&ours), "{\"model\": \"opus\"}");
    // What is changed once more is kept too.
    let made = text(&path);
    exits(&home.run(&["init", "claude", "--threshold", "9000"]), 0);
    let between = home.path().join(".claude/settings.json.bak.2");
    assert_eq!(text(&between), made);
    exits(&home.run(&["init", "claude", "--uninstall"]), 0);
    // What held nothing but what was added goes with it.
    assert!(!between.exists());
    assert_eq!(text(&path), "{\"model\": \"opus\"}");
    assert_eq!(text(&theirs), "of another tool");
    assert!(!ours.exists());
}

#[test]
fn what_is_taken_out_of_a_changed_file_is_kept() {
    let home = Home::new();
    exits(&home.run(&["init", "claude"]), 0);
    let path = home.path().join(".claude/settings.json");
    let changed = text(&path).replacen('{', "{\"model\": \"opus\",", 1);
    fs::write(&path, &changed).unwrap();
    exits(&home.run(&["init", "claude", "--uninstall"]), 0);
    assert!(!text(&path).contains("toolstub"));
    assert_eq!(text(&home.path().join(".claude/settings.json.bak")), changed);
}

#[test]
#[cfg(unix)]
fn no_backup_is_written_through_a_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let home = Home::new();
    let global = file(&home, ".claude/settings.json", "{\"mine\": true}");
    let path = file(&home, "project/.claude/settings.json", "{\"theirs\": true}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let link = home.path().join("project/.claude/settings.json.bak");
    symlink(&global, &link).unwrap();
    let nowhere = home.path().join("project/.claude/settings.json.bak.1");
    symlink(home.path().join("made"), &nowhere).unwrap();
    for args in
        [&["init", "claude", "--project"][..], &["init", "claude", "--project", "--uninstall"]]
    {
        let project = home.path().join("project");
        exits(&home.command(args).current_dir(project).output().unwrap(), 0);
        assert_eq!(text(&global), "{\"mine\": true}");
        assert!(!home.path().join("made").exists());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let kept = home.path().join("project/.claude/settings.json.bak.2");
        assert_eq!(kept.exists(), args.len() == 3);
        if kept.exists() {
            assert_eq!(text(&kept), "{\"theirs\": true}");
            assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
    assert_eq!(text(&path), "{\"theirs\": true}");
}

#[test]
#[cfg(unix)]
fn a_project_has_nothing_changed_outside_of_it() {
    use std::os::unix::fs::symlink;

    for (host, _, path) in FILES {
        // The file, and each folder that it is in.
        for (depth, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let (link, rest) = path.split_at(depth);
            for content in [Some("{}"), None] {
                let home = Home::new();
                let project = home.path().join("project");
                fs::create_dir_all(project.join(link).parent().unwrap()).unwrap();
                let target = home.path().join("outside");
                let outside = home.path().join(format!("outside{rest}"));
                fs::create_dir_all(outside.parent().unwrap()).unwrap();
                if let Some(content) = content {
                    fs::write(&outside, content).unwrap();
                }
                symlink(&target, project.join(link)).unwrap();
                for more in ["--show", "--uninstall", "--json"] {
                    let args = ["init", host, "--project", more, "--json"];
                    let args = &args[..if more == "--json" { 4 } else { 5 }];
                    let output = home.command(args).current_dir(&project).output().unwrap();
                    let words = if target.exists() { "leads out of" } else { "leads nowhere" };
                    fails(&output, 2, "INVALID_ARGUMENT", words);
                }
                assert_eq!(fs::read_to_string(&outside).ok().as_deref(), content, "{path}");
            }
        }
    }
    // Where a link stays within the project, it is followed.
    let home = Home::new();
    let real = file(&home, "project/shared/settings.json", "{\"a\": 1}");
    let project = home.path().join("project");
    symlink("shared", project.join(".claude")).unwrap();
    let output = home.command(&["init", "claude", "--project"]).current_dir(&project).output();
    exits(&output.unwrap(), 0);
    assert!(text(&real).contains("hook claude"));
}

#[test]
fn where_one_file_cannot_be_changed_none_is() {
    for settings in [None, Some("{\"a\": 1}")] {
        let home = Home::new();
        if let Some(settings) = settings {
            file(&home, ".claude/settings.json", settings);
        }
        let servers = file(&home, ".claude.json", "{\"b\": 2}");
        // There is no name left for a backup.
        file(&home, ".claude.json.bak", "");
        for number in 1..100 {
            file(&home, &format!(".claude.json.bak.{number}"), "");
        }
        let output = home.run(&["--json", "init", "claude"]);
        fails(&output, 3, "INTERNAL", "it has 100 backups; remove some");
        let left = fs::read_to_string(home.path().join(".claude/settings.json")).ok();
        assert_eq!(left.as_deref(), settings);
        assert!(!home.path().join(".claude/settings.json.bak").exists());
        assert_eq!(home.path().join(".claude").exists(), settings.is_some());
        assert_eq!(text(&servers), "{\"b\": 2}");
    }
}

#[test]
fn a_plugin_that_was_changed_is_kept_beside() {
    let home = Home::new();
    exits(&home.run(&["init", "opencode"]), 0);
    let path = home.path().join(".config/opencode/plugin/toolstub.js");
    let changed = text(&path).replace("30_000", "60_000");
    fs::write(&path, &changed).unwrap();
    exits(&home.run(&["init", "opencode", "--uninstall"]), 0);
    assert!(!path.exists());
    assert_eq!(text(&path.with_extension("js.bak")), changed);
}

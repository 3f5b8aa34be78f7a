//! Prints docs/commands.md. With a directory (the site's documents) as argument it writes that page with its links, and
//! the pages in `commands`, there, and prints the file and the title of each page.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let Some(docs) = std::env::args_os().nth(1) else {
        print!("{}", scurry_resp::reference(false));
        return Ok(());
    };
    let docs = Path::new(&docs);
    std::fs::create_dir_all(docs.join("commands"))?;
    std::fs::write(docs.join("commands.md"), scurry_resp::reference(true))?;
    for page in scurry_resp::reference_pages() {
        std::fs::write(docs.join("commands").join(&page.file), page.text)?;
        println!("{} {}", page.file, page.title);
    }
    Ok(())
}

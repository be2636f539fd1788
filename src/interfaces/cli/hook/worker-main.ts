/** The process that makes a note after a compaction. A hook starts it and does not wait for it. */
import { makeNote } from './make-note.js'

const [folder, key] = process.argv.slice(2)
if (folder !== undefined && key !== undefined) await makeNote(folder, key)
// An engine that is being closed must not keep the process.
process.exit(0)

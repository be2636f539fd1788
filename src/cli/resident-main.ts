/** The process of a resident reader. `start-resident.ts` starts it with the path of the ledger's directory. */
import { runResident } from '../library/resident.js'

const [store] = process.argv.slice(2)
// Another process may open or remove the directory meanwhile. Nobody waits for this process, so it just ends.
if (store !== undefined) await runResident(store).catch(() => undefined)
// An engine that is being closed must not keep the process.
process.exit(0)

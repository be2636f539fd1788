/**
 * The process that makes the summary of a session that its program is about to compact. A plugin starts it with the hooks'
 * directory and the name of the program, writes the session to its input, and waits for one line of JSON. Without an
 * answer the program compacts by itself: if there is a problem, this process prints nothing and logs it.
 *
 * With `warm` as the last word it prints nothing: it records the session, and leaves a resident reader, which makes a later
 * summary without opening the ledger.
 */
import { readFileSync, writeSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isRecord } from '../../../lib/is-record.js'
import { homeFolder } from '../../../lib/user-folders.js'
import { textIn } from '../../../lib/text-in.js'
import { askResidentOf } from '../ask-resident.js'
import { canaryNote, isCanary } from './canary.js'
import { readCompacting, type SummaryRequest } from './compacting-session.js'
import { logProblem, removeExport } from './hook-folder.js'
import { readInput } from './read-input.js'

/** The program waits for 2 s. A process that needs longer still records the session, for the next summary. */
const LATE_MS = 2_000
const MOST_MS = 60_000

const [folder = '', agent = '', mode] = process.argv.slice(2)
// The directory of a project may have settings of other people.
process.chdir(homeFolder())

/** The ledger and the rules of the installation; undefined if it makes no summaries: a program may run a removed plugin. */
function installed(): { readonly store: string; readonly rules: string | undefined } | undefined {
  const record: unknown = JSON.parse(readFileSync(join(folder, `${agent}.json`), 'utf8'))
  if (!isRecord(record) || record['compacts'] !== true) return undefined
  const store = textIn(record['store'])
  return store === undefined ? undefined : { store, rules: textIn(record['rules']) }
}

/** The path of a ledger in a directory; undefined for a database on a server. */
const directoryOf = (store: string): string | undefined =>
  store.startsWith('@') || /^[a-z][\w+.-]*:\/\//iu.test(store) ? undefined : resolve(store)

function print(answer: unknown): void {
  if (mode === 'warm') return
  if (isRecord(answer) && answer['kind'] === 'none')
    logProblem(folder, agent, `no summary was made: ${textIn(answer['reason']) ?? ''}`)
  if (performance.now() > LATE_MS) {
    logProblem(folder, agent, 'the summary took too long, so the program made its own')
    return
  }
  // Synchronously, because the process may end.
  writeSync(1, `${JSON.stringify(answer)}\n`)
}

/** The transcript, once it is known: an export must not stay. */
let transcript: string | undefined

async function run(): Promise<void> {
  const session = readCompacting(await readInput(), agent)
  transcript = session.transcript
  try {
    const found = installed()
    if (found === undefined) return
    const request: SummaryRequest = { summarize: session, rulesFile: found.rules }
    if (isCanary(session.sessionId)) print({ kind: 'made', text: canaryNote(session.sessionId, undefined) })
    else await summarize(request, found.store)
  } finally {
    removeExport(folder, session.transcript)
  }
}

async function summarize(request: SummaryRequest, store: string): Promise<void> {
  const directory = directoryOf(store)
  const answer = directory === undefined ? undefined : await askResidentOf(directory, request)
  if (answer !== undefined) {
    print(answer)
    return
  }
  const { askNewResident, openAndSummarize } = await import('./open-and-summarize.js')
  const isResident = async (): Promise<boolean> => directory !== undefined && (await askNewResident(directory, request))
  if (mode === 'warm' && (await isResident())) return
  // This also takes the directory from a resident reader that was killed.
  await openAndSummarize(folder, request, print)
  if (mode === 'warm') await isResident()
}

setTimeout(() => {
  logProblem(folder, agent, 'the summary was not made in time, so the program made its own')
  if (transcript !== undefined) removeExport(folder, transcript)
  process.exit(0)
}, MOST_MS).unref()

try {
  await run()
} catch (error) {
  // The plugin sees the end of the output, and does not wait for the rest.
  logProblem(folder, agent, error)
}
process.exit(0)

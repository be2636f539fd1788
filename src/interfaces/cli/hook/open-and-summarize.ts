/** Makes a summary with a ledger that this process opens, because no resident reader has it open. */
import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { isLedgerError } from '../../../lib/ledger-error.js'
import { builtFile } from '../../../lib/package-root.js'
import { homeFolder } from '../../../lib/user-folders.js'
import { ownerOf } from '../../../library/resident.js'
import { askResidentOf } from '../ask-resident.js'
import type { SummaryRequest } from './compacting-session.js'
import { openInstalled } from './make-note.js'
import { makeSummary, type SummaryAnswer } from './make-summary.js'

/** Makes the summary, and calls `onAnswer` before the ledger is closed, which takes time. */
export async function openAndSummarize(
  folder: string,
  request: SummaryRequest,
  onAnswer: (answer: SummaryAnswer) => void,
): Promise<void> {
  const open = openInstalled(folder, request.summarize.agent)
  try {
    await open({ reads: false }, async (ledger) => {
      onAnswer(await makeSummary(ledger, request))
    })
  } catch (error) {
    if (!isLedgerError(error, 'FolderLocked')) throw error
    // The other process may be the one that follows this session.
    await open({ reads: true }, async (ledger) => {
      onAnswer(await makeSummary(ledger, request, false))
    })
  }
}

/** How long to wait for the process that has the directory open, and for the resident reader to open it. */
const PATIENCE_MS = 20_000
const POLL_MS = 100

function startResident(directory: string): ChildProcess {
  const child = spawn(process.execPath, [builtFile('src', 'interfaces', 'cli', 'resident-main.js'), directory], {
    cwd: homeFolder(),
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
  })
  child.on('error', () => undefined)
  child.unref()
  return child
}

/**
 * Sends a request to the resident reader of a directory, which it starts as soon as no process has the directory open.
 * Resolves to whether it answered.
 */
export async function askNewResident(directory: string, request: SummaryRequest): Promise<boolean> {
  if (process.env['CONTEXT_LEDGER_RESIDENT'] === 'off') return false
  let started: ChildProcess | undefined
  for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
    if ((await askResidentOf(directory, request)) !== undefined) return true
    const isStarting = started?.exitCode === null
    if (!isStarting && (await ownerOf(directory)) === undefined) started = startResident(directory)
    await delay(POLL_MS)
  }
  return false
}

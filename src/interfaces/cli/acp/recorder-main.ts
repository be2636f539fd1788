/**
 * The process that records a connection between an editor and an agent. `acp` starts it, and writes a line for each message
 * to its standard input. It outlives a relay that is killed, and records what it has. Notes go to its standard output.
 */
import { writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { byteLines } from '../../../lib/byte-lines.js'
import { hangUpSignals, onEndSignal } from '../../../lib/platform.js'
import { homeFolder } from '../../../lib/user-folders.js'
import { sentenceOfProblem } from '../../../library/problem.js'
import { SessionRecorder } from '../../acp/session-recorder.js'
import { loadConfig } from '../config/load-config.js'
import { rulesOf } from '../config/rules.js'
import { OpeningOnDemand } from '../on-demand.js'
import { openerWithRetries } from '../open-with-retries.js'
import { recorderSettings } from './recorder-settings.js'

/** How long it tries to record the rest after the end of the connection. */
const CLOSE_MS = 60_000

process.chdir(homeFolder())
const { flags, name, scope, recall } = recorderSettings.parse(JSON.parse(process.argv[2] ?? ''))
// The terminal's signals are for the agent.
onEndSignal(() => undefined, hangUpSignals())

const say = (text: string): void => {
  try {
    writeSync(2, `context-ledger: ${text}\n`)
  } catch {
    // The relay and its editor have ended.
  }
}
const onProblem = (problem: unknown): void => {
  say(sentenceOfProblem(problem))
}

const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: true })
const isFolder = !(config.database ?? config.store).includes('://')
const opening = new OpeningOnDemand(
  openerWithRetries(flags, isFolder, {
    writes: { creates: true, writes: true, ahead: false },
    reads: { reads: true, ahead: false },
  }),
  onProblem,
)
// Only notes need the rules: without their file the session is recorded all the same.
const rules = await rulesOf(config).catch((error: unknown) => {
  onProblem(error)
  return []
})
// A note for a relay that was killed.
process.stdout.on('error', () => undefined)
const recorder = new SessionRecorder({
  name,
  scope,
  rules,
  withLedger: (work) => opening.withRetries(true, work),
  onNote: recall
    ? (sessionId, text) => {
        process.stdout.write(`${JSON.stringify({ sessionId, text })}\n`)
      }
    : undefined,
  onProblem,
  wait: (milliseconds, signal) => delay(milliseconds, undefined, { signal }),
})
for await (const { bytes, isEnded } of byteLines(process.stdin)) if (isEnded) recorder.take(bytes.toString('utf8'))
const { unreadable, messages, reason } = await recorder.close(CLOSE_MS)
if (messages > 0)
  say(
    `${String(messages)} messages of this connection were not recorded${reason === undefined ? '' : `: ${sentenceOfProblem(reason)}`}`,
  )
if (unreadable > 0) say(`${String(unreadable)} lines of this connection were no messages of the protocol, or too long`)
await opening.close()
process.exit(0)

/**
 * A server in a process of its own, for tests that kill or stop the whole process and for benchmarks:
 * `start-wire-server [--port 2113] [--file events.jsonl] [--foreign]`. It says `ready <connection string>` once it
 * listens. Each line on its standard input is one of the commands below; `done <line>` follows when it has been obeyed.
 * With a file it keeps what it has acknowledged.
 */
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { openJournal } from '../kurrentdb/journal.js'
import { createEventLog } from '../kurrentdb/log.js'
import { startWireServer } from '../kurrentdb/server.js'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    file: { type: 'string' },
    foreign: { type: 'boolean', default: false },
  },
})
const log = createEventLog({
  foreign: values.foreign,
  ...(values.file === undefined ? {} : { journal: openJournal(values.file) }),
})
const server = await startWireServer({ port: Number(values.port), log })

/** What a line may ask for, by its first word; the other words are figures. */
const commands = new Map<string, (...figures: readonly number[]) => void | Promise<void>>([
  ['restart', () => server.restart()],
  ['stop', () => server.stop()],
  ['start', () => server.start()],
  ['hang', () => server.hang()],
  ['resume', () => server.resume()],
  ['not-ready', () => server.beNotReady()],
  ['ready', () => server.beReady()],
  ['hide-as-deadline', (appends = 1) => server.hideOutcome('deadline', appends)],
  ['hide-as-unavailable', (appends = 1) => server.hideOutcome('unavailable', appends)],
  // Here the whole process dies.
  [
    'die-during-appends',
    (stored = 1, lost = 1) =>
      void server.dieDuringAppends({ stored, lost }).then(() => process.kill(process.pid, 'SIGKILL')),
  ],
])

console.log(`ready ${server.connectionString}`)
for await (const line of createInterface({ input: process.stdin })) {
  const [name = '', ...figures] = line.split(' ')
  const command = commands.get(name)
  if (command === undefined) throw new Error(`There is no command ${name}`)
  await command(...figures.map(Number))
  console.log(`done ${line}`)
}
// The parent process has exited.
await server.close()
log.close()

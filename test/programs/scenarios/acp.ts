/**
 * `context-ledger acp` between an editor and the program: the session is recorded as the editor saw it, goes on in a second
 * connection, and gets a note after a compaction.
 */
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type NewSessionRequest,
  type SessionNotification,
} from '@agentclientprotocol/sdk'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { NOTE_BEGINNING } from '../../../src/domain/values/recall-note.js'
import { fieldsOf, jsonOf, listOf } from '../model/request.js'
import type { Scenario } from '../scenario.js'
import type { Trial } from '../trial.js'

const RULE = 'Never change plan.txt, and write all amounts in cents.'
/** How often it is looked whether the note has come. */
const PROMPTS_FOR_NOTE = 20

/** A connection, as the editor saw it. */
interface Seen {
  readonly sessionId: string
  readonly updates: readonly SessionNotification[]
  readonly stopReasons: readonly string[]
}

/** Lets an editor send prompts to the program through the relay, in a new session or in an earlier one. */
async function edit(
  trial: Trial,
  acpCommand: readonly string[],
  prompts: (updates: readonly SessionNotification[]) => Iterable<string>,
  loaded?: string,
): Promise<Seen> {
  const { agent, site } = trial
  const [program = '', ...words] = trial.ledgerCommand(['acp', '--recall', '--', ...acpCommand])
  const child = spawn(program, words, {
    cwd: site.project,
    env: { ...trial.ledgerEnvironment(), ...agent.environment(site) },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const closed = once(child, 'close')
  const updates: SessionNotification[] = []
  const stopReasons: string[] = []
  const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout))
  const sessionId = await client({ name: 'editor' })
    .onRequest(methods.client.session.requestPermission, ({ params: { options } }) => {
      const allowed = options.find(({ kind }) => kind === 'allow_once') ?? options[0]
      return { outcome: { outcome: 'selected', optionId: allowed?.optionId ?? '' } }
    })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params))
    .connectWith(stream, async (connection) => {
      await connection.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: { session: { compaction: {} } },
      })
      const session: NewSessionRequest = { cwd: site.project, mcpServers: [] }
      const made = loaded === undefined ? await connection.request(methods.agent.session.new, session) : undefined
      const id = loaded ?? made?.sessionId ?? ''
      if (loaded !== undefined) await connection.request(methods.agent.session.load, { ...session, sessionId: loaded })
      for (const text of prompts(updates)) {
        const { stopReason } = await connection.request(methods.agent.session.prompt, {
          sessionId: id,
          prompt: [{ type: 'text', text }],
        })
        stopReasons.push(stopReason)
      }
      return id
    })
  child.stdin.end()
  child.kill()
  await closed
  return { sessionId, updates, stopReasons }
}

/** How long the recording process may take after the end of the connection. */
const RECORDED_MS = 60_000

/** The recorded messages, in short, as soon as the last one has this text. */
async function recordedOf(trial: Trial, sessionId: string, lastText: string): Promise<readonly string[]> {
  const until = performance.now() + RECORDED_MS
  for (;;) {
    const lines = await loggedOf(trial, sessionId)
    if (lines.at(-1)?.includes(lastText) === true || performance.now() > until) return lines
  }
}

async function loggedOf(trial: Trial, sessionId: string): Promise<readonly string[]> {
  const { stdout } = await trial.ledger('log', `acp/${sessionId}`, '--json')
  return listOf(fieldsOf(jsonOf(stdout))['events']).flatMap((recorded) => {
    const event = fieldsOf(recorded)
    const data = fieldsOf(event['data'])
    if (event['type'] !== 'MessageAppended') return []
    const calls = listOf(data['toolCalls']).map((call) => `→ ${String(fieldsOf(fieldsOf(call)['function'])['name'])}`)
    return [`${String(data['role'])}: ${[JSON.stringify(data['content']), ...calls].join(' ')}`]
  })
}

export const acpScenario: Scenario = {
  name: 'ACP',
  async run(trial) {
    const words = await trial.acpCommand()
    if (words === undefined) return
    if ('reason' in words) {
      trial.impossible('ACP', words.reason)
      return
    }
    const first = await edit(trial, words, () => [
      `${RULE} [[one: read notes.txt & ls | say Read and listed.]]`,
      'Write it. [[two: write out.txt | say Written.]]',
    ])
    const before = await recordedOf(trial, first.sessionId, 'Written')
    trial.check('ACP: each turn ends', first.stopReasons.join() === 'end_turn,end_turn', first.stopReasons.join())
    const expected = ['Never change plan.txt', 'Read and listed', 'Written'].filter(
      (text) => before.filter((line) => line.includes(text) && !line.startsWith('tool')).length > 0,
    )
    trial.check('ACP: prompts and answers are recorded', expected.length === 3, before.join('\n'))
    const calls = before.filter((line) => line.includes('→')).length
    const results = before.filter((line) => line.startsWith('tool:')).length
    trial.check('ACP: three calls and their results are recorded', calls === 3 && results === 3, before.join('\n'))

    const second = await edit(trial, words, () => ['Go on. [[three: say Going on.]]'], first.sessionId).catch(
      (error: unknown) => String(error),
    )
    if (typeof second === 'string') trial.impossible('ACP: a loaded session goes on', second)
    else {
      const resumed = await recordedOf(trial, first.sessionId, 'Going on')
      const added = resumed.slice(before.length)
      const isContinued = before.every((line, at) => resumed[at] === line) && added.length === 2
      trial.check('ACP: a loaded session goes on, and nothing is recorded twice', isContinued, resumed.join('\n'))
    }

    const compactions = trial.agent.acp?.compactions
    if (compactions === undefined) {
      const note = await noted(trial, words)
      trial.check('ACP: after a compaction the model gets the note once', note.model === 1, JSON.stringify(note))
    } else trial.impossible('ACP: after a compaction the model gets the note once', compactions.impossible)
    const verified = await trial.ledger('verify')
    trial.check('ACP: verify', verified.status === 0, verified.stdout)
  },
}

/** A session with a compaction: how many prompts the model received a note with. */
async function noted(
  trial: Trial,
  words: readonly string[],
): Promise<{ readonly model: number; readonly prompts: number }> {
  const from = trial.model.requests.length
  const notesIn = (): number => {
    const last = trial.model.requests.slice(from).at(-1)?.request
    const texts = last?.messages.flatMap(({ role, texts: said }) => (role === 'user' ? said : [])) ?? []
    return texts.filter((text) => text.includes(NOTE_BEGINNING)).length
  }
  let prompts = 0
  await edit(trial, words, function* () {
    yield `${RULE} [[four: read notes.txt | say Read. @100000]]`
    yield '/compact'
    while (notesIn() === 0 && prompts < PROMPTS_FOR_NOTE) {
      prompts += 1
      yield `On ${String(prompts)}. [[go${String(prompts)}: ls | ls | ls | say On. ]]`
    }
    yield 'Last. [[last: say Done. ]]'
  })
  return { model: notesIn(), prompts }
}

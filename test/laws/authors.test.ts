/**
 * Only what the user wrote is a rule, a request, a title or a loss of a conversation, whatever door it came through:
 * texts of programs and of the ledger under the role of the user, or between the messages, are none, and neither is a
 * tag that a program puts around the user's words.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger, type MessageInput } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { runsOf } from '../support/length.js'
import { chat, messages, responses } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

let ledger: Ledger
let upstream: UpstreamStub
let proxy: ProxyServer
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'authors-'))
  ledger = await openLedger({ store: 'memory' })
  upstream = await startUpstream()
  proxy = await startProxy({ ledger, upstream: upstream.url, port: 0 })
})
afterAll(async () => {
  await proxy.close(100)
  await upstream.close()
  await ledger.close()
  await rm(directory, { recursive: true })
})

/** A rule of the user, and one of a program. */
const ruleOf = (word: string): string => `Never deploy the harbour service ${word} before the tide table was checked.`

/** The forms in which programs and the ledger put a text into a message of the user. */
const FORMS = [
  (text: string) => `<system-reminder>\n${text}\n</system-reminder>`,
  (text: string) => `<environment_context>\n  <rule>${text}</rule>\n${text}\n</environment_context>`,
  (text: string) => `<system-reminder>\n<system-reminder>\n${text}\n</system-reminder>\n${text}\n</system-reminder>`,
  (text: string) => `<task-notification>\n${text}\n</task-notification>`,
  (text: string) => `Stop hook feedback:\n${text}`,
  (text: string) =>
    `Recalled from the log of this conversation after its context was compacted.\n\nRules\n- “${text}” (r2)`,
  (text: string) => `This session continues a/b, a session of Codex, from the log of Context Ledger. It.\n\n${text}`,
] as const

/** The tags in which programs store or send the user's words. */
const WRAPPERS = [
  (text: string) => text,
  (text: string) => `<user_input mode="act">${text}</user_input>`,
  (text: string) => `<user_input mode="plan">\n${text}\n</user_input>`,
  (text: string) => `<user_query>\n${text}\n</user_query>`,
  (text: string) => `<task>\n${text}\n</task>`,
  (text: string) => `<user_message>\n${text}\n</user_message>`,
  (text: string) => `<userRequest>\n${text}\n</userRequest>`,
  (text: string) => `[attempt_completion] Result:\n\n<feedback>\n${text}\n</feedback>`,
  (text: string) => `[ask_followup_question for 'It?'] Result:\n<answer>\n${text}\n</answer>`,
] as const

interface Turn {
  /** Indexes of forms: the parts before and after the user's words. */
  readonly before: readonly number[]
  readonly after: readonly number[]
  /** Index of the tag around the user's words. */
  readonly wrapper: number
  /** A message of this role follows the turn. */
  readonly directive: 'system' | 'developer' | undefined
}
const form = fc.nat(FORMS.length - 1)
const turn: fc.Arbitrary<Turn> = fc.record({
  before: fc.array(form, { maxLength: 2 }),
  after: fc.array(form, { maxLength: 2 }),
  wrapper: fc.nat(WRAPPERS.length - 1),
  directive: fc.constantFrom(undefined, 'system', 'developer'),
})

/** A message in parts: of the user with texts of programs, or between the turns. */
interface AuthoredTurn {
  readonly role: 'user' | 'system' | 'developer' | 'assistant'
  readonly texts: readonly string[]
}

function conversationOf(turns: readonly Turn[], mark: string): AuthoredTurn[] {
  return turns.flatMap(({ before, after, wrapper, directive }, index): AuthoredTurn[] => {
    const number = `${mark}${String(index)}`
    const words = WRAPPERS[wrapper]?.(ruleOf(`user${number}`)) ?? ''
    const programs = (indexes: readonly number[], place: string): string[] =>
      indexes.map((each, at) => FORMS[each]?.(ruleOf(`program${number}${place}${String(at)}`)) ?? '')
    return [
      { role: 'user', texts: [...programs(before, 'b'), words, ...programs(after, 'a')] },
      ...(directive === undefined ? [] : [{ role: directive, texts: [ruleOf(`program${number}d`)] }]),
      { role: 'assistant', texts: [`The tide table of ${number} has now been read by me as you wanted.`] },
    ]
  })
}

const partsOf = (texts: readonly string[]): { type: 'text'; text: string }[] =>
  texts.map((text) => ({ type: 'text', text }))
const inputOf = ({ role, texts }: AuthoredTurn, index: number): MessageInput => ({
  id: `m${String(index)}`,
  role,
  content: partsOf(texts),
})

async function post(path: string, id: string, body: object): Promise<void> {
  const response = await fetch(`${proxy.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': id },
    body: JSON.stringify(body),
  })
  await response.text()
  await proxy.settled()
}

/** Records the conversation through a door. Returns its id. */
const DOORS: Readonly<Record<string, (said: readonly AuthoredTurn[], id: string) => Promise<string>>> = {
  async observe(said, id) {
    await ledger.transcripts.observe(id, { program: 'agent', messages: said.map(inputOf) })
    return id
  },
  async 'chat completions'(said, id) {
    upstream.answerWith(chat.whole({ text: 'Fine.' }))
    await post('/v1/chat/completions', id, {
      model: 'm',
      messages: said.map(({ role, texts }) => ({ role, content: partsOf(texts) })),
    })
    return id
  },
  async responses(said, id) {
    upstream.answerWith(responses.whole({ text: 'Fine.' }))
    await post('/v1/responses', id, {
      model: 'm',
      input: said.map(({ role, texts }) => ({
        type: 'message',
        role,
        content: texts.map((text) => ({ type: role === 'assistant' ? 'output_text' : 'input_text', text })),
      })),
    })
    return id
  },
  async messages(said, id) {
    upstream.answerWith(messages.whole({ text: 'Fine.' }))
    await post('/v1/messages', id, {
      model: 'm',
      max_tokens: 9,
      messages: said.map(({ role, texts }) => ({
        role: role === 'developer' ? 'system' : role,
        content: partsOf(texts),
      })),
    })
    return id
  },
  async 'Claude Code'(said, id) {
    const file = join(directory, `${id}.jsonl`)
    const lines = said
      .filter(({ role }) => role === 'user' || role === 'assistant')
      .map(({ role, texts }, index) => ({
        parentUuid: index === 0 ? null : `u${String(index - 1)}`,
        isSidechain: false,
        sessionId: id,
        version: '2.1.50',
        type: role,
        uuid: `u${String(index)}`,
        timestamp: new Date(1_790_000_000_000 + index * 1_000).toISOString(),
        message: { role, content: partsOf(texts), ...(role === 'user' ? {} : { id: `a${String(index)}`, model: 'm' }) },
      }))
    await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await ledger.transcripts.import(file)
    return `claude-code/${id}`
  },
  async Codex(said, id) {
    const file = join(directory, `rollout-${id}.jsonl`)
    const timestamp = '2026-09-01T10:00:00.000Z'
    const lines = [
      {
        timestamp,
        type: 'session_meta',
        payload: { id, timestamp, cwd: '/srv', originator: 'cli', cli_version: '0.171.0' },
      },
      ...said.map(({ role, texts }) => ({
        timestamp,
        type: 'response_item',
        payload: {
          type: 'message',
          role: role === 'system' ? 'developer' : role,
          content: texts.map((text) => ({ type: role === 'assistant' ? 'output_text' : 'input_text', text })),
        },
      })),
    ]
    await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await ledger.transcripts.import(file)
    return `codex/${id}`
  },
  async Cline(said, id) {
    const file = join(directory, `${id}.messages.json`)
    const list = said
      .filter(({ role }) => role === 'user' || role === 'assistant')
      .map(({ role, texts }, index) => ({
        id: `m${String(index)}`,
        role,
        content: partsOf(texts),
        ts: 1_790_000_000_000,
      }))
    await writeFile(file, JSON.stringify({ version: 1, sessionId: id, messages: list }))
    await ledger.transcripts.import(file)
    return `cline/${id}`
  },
}

let count = 0

it.each(Object.keys(DOORS))(
  'of %s',
  async (door) => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 3 }), async (turns) => {
        count += 1
        const mark = `x${String(count)}x`
        const name = `0190a1b2-0000-7000-8000-${String(count).padStart(12, '0')}`
        const id = (await DOORS[door]?.(conversationOf(turns, mark), name)) ?? ''
        const title = (await ledger.list()).conversations.find(({ conversationId }) => conversationId === id)?.title
        await ledger.transcripts.observe(id, {
          program: id.includes('/') ? (id.split('/')[0] ?? '') : 'agent',
          compaction: { sourceId: 'c1', trigger: 'manual', summary: { kind: 'text', text: 'Ships.' }, context: [] },
        })
        const { statedRules, text } = await ledger.recall(id, { tokens: 20_000 })
        const lost: string[] = []
        await ledger.forgotten(id, {
          onCycle: ({ report }) => {
            lost.push(...report.items.map((item) => JSON.stringify([item.text, item.said])))
          },
        })
        const rules = statedRules.map((rule) => rule.text)
        expect({ title, text, rules, lost }).toEqual({
          title: expect.not.stringContaining(`program${mark}`),
          text: expect.not.stringContaining(`program${mark}`),
          rules: turns.map((_turn, index) => ruleOf(`user${mark}${String(index)}`)),
          lost: lost.filter((each) => !each.includes(`program${mark}`)),
        })
        expect(title).toBe(ruleOf(`user${mark}0`))
        for (const index of turns.keys()) expect(lost.join('\n')).toContain(`user${mark}${String(index)}`)
      }),
      { numRuns: runsOf(60) },
    )
  },
  120_000,
)

/** `context-ledger acp` between an editor and an agent, both made with the protocol's package. */
import { client, methods, ndJsonStream, PROTOCOL_VERSION, type SessionNotification } from '@agentclientprotocol/sdk'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { openLedger } from '../../src/index.js'
import { NOTE_BEGINNING } from '../../src/domain/values/recall-note.js'
import { programFile } from '../support/child.js'
import { runCli, startCli } from '../support/cli.js'
import { isLong } from '../support/length.js'

const TURNS = isLong ? 330 : 12
const LONG = 300_000
let cwd: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'context-ledger-acp-'))
})
afterEach(() => {
  rmSync(cwd, { recursive: true, force: true, maxRetries: 5 })
})

const logOf = (name: string): Buffer => readFileSync(join(cwd, name))

/** The texts of the agent. */
const textsOf = (updates: readonly SessionNotification[]): readonly string[] =>
  updates.flatMap(({ update }) =>
    update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? [update.content.text] : [],
  )

/** Lets an editor send these prompts, which may depend on the updates so far. Returns what it sent and received, and the status of the relay. */
async function edit(
  prompts: readonly string[] | ((updates: readonly SessionNotification[]) => Iterable<string>),
  words: readonly string[] = [],
) {
  const files = ['received', 'sent'].map((name) => join(cwd, name))
  const child = startCli(
    [
      'acp',
      '--store',
      join(cwd, '.context-ledger'),
      ...words,
      '--',
      process.execPath,
      resolve(programFile('acp-agent')),
      ...files,
    ],
    {
      cwd,
    },
  )
  const errors: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  const sent: Buffer[] = []
  const received: Buffer[] = []
  const updates: SessionNotification[] = []
  const input = Writable.toWeb(child.stdin).getWriter()
  const output = new WritableStream<Uint8Array>({
    async write(chunk) {
      sent.push(Buffer.from(chunk))
      await input.write(chunk)
    },
  })
  const answers = Readable.toWeb(child.stdout).pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        received.push(Buffer.from(chunk))
        controller.enqueue(chunk)
      },
    }),
  )
  const closed = once(child, 'close')
  const failure = await client({ name: 'editor' })
    .onRequest(methods.client.session.requestPermission, () => ({ outcome: { outcome: 'selected', optionId: 'yes' } }))
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params))
    .connectWith(ndJsonStream(output, answers), async (agent) => {
      await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} })
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
      for (const text of typeof prompts === 'function' ? prompts(updates) : prompts)
        await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] })
    })
    .then(
      () => undefined,
      (error: unknown) => error,
    )
  child.stdin.end()
  const [status]: unknown[] = await closed
  return { sent, received, updates, status, failure, errors: Buffer.concat(errors).toString() }
}

/** The messages that were recorded, when the process that records them has ended. */
async function recorded(): Promise<readonly string[]> {
  const ledger = await openLedger({ store: join(cwd, '.context-ledger') })
  try {
    const { conversations } = await ledger.list()
    const [conversation] = conversations
    const messages: string[] = []
    for await (const { type, data } of ledger.log(conversation?.conversationId ?? ''))
      if (type === 'MessageAppended') messages.push(`${data.role}: ${JSON.stringify(data.content)}`)
    const { problems } = await ledger.admin.verify()
    expect(problems).toEqual([])
    return messages
  } finally {
    await ledger.close()
  }
}

it(
  'passes every byte on, and records each message once',
  async () => {
    const prompts = Array.from({ length: TURNS }, (_none, at) => `say ${String(at)} with a line feed\n and 日本語`)
    const { sent, received, updates, status, errors } = await edit(prompts)
    expect(logOf('received').equals(Buffer.concat(sent))).toBe(true)
    expect(logOf('sent').equals(Buffer.concat(received))).toBe(true)
    expect(updates).toHaveLength(4 * TURNS)
    expect([status, errors.replaceAll(/making a new ledger.*\n/gu, '')]).toEqual([0, ''])
    expect(await recorded()).toEqual(
      prompts.flatMap((text, at) => [
        `user: ${JSON.stringify(text)}`,
        `assistant: ${JSON.stringify(`You said: ${text}`)}`,
        'assistant: null',
        `tool: "result ${String(at + 1)}"`,
      ]),
    )
  },
  LONG,
)

it(
  'gives the note after a compaction with the first prompt after it is made, once',
  async () => {
    const rule = 'Never touch plan.txt, and write all amounts in cents.'
    const hasNote = (updates: readonly SessionNotification[]): boolean =>
      textsOf(updates).some((text) => text.includes(NOTE_BEGINNING))
    const { updates } = await edit(
      function* (soFar) {
        yield* [rule, 'compact']
        // The note is made in the background.
        while (!hasNote(soFar)) yield 'think'
        yield* ['and on', 'and on']
      },
      ['--recall'],
    )
    const withNote = textsOf(updates).filter((text) => text.includes(NOTE_BEGINNING))
    expect(withNote).toEqual([expect.stringContaining('Never touch plan.txt')])
    const messages = await recorded()
    expect(messages.filter((text) => text.startsWith('user:') && text.includes(NOTE_BEGINNING))).toHaveLength(
      withNote.length,
    )
    for (const text of withNote) expect(text).toContain('Never touch plan.txt')
  },
  LONG,
)

it(
  'an agent that is killed ends the relay with its status, and what it said is recorded',
  async () => {
    const { failure, status } = await edit(['hello', 'die'])
    expect(failure).toBeDefined()
    expect(status).toBe(137)
    expect((await recorded())[0]).toBe('user: "hello"')
    expect((await recorded()).at(-1)).toBe('user: "die"')
  },
  LONG,
)

it('an agent that does not exist is an error that names it', async () => {
  const { status, stderr } = await runCli(['acp', '--store', cwd, '--', 'no-such-agent-program'], { cwd })
  expect([status, stderr]).toEqual([2, expect.stringContaining('no-such-agent-program cannot be started')])
})

/**
 * Secrets of every kind through every door of a ledger in a folder: none is in a file, a row or an event, and
 * repeated messages are recognized.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger, type MessageInput } from '../../src/index.js'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { startProxy } from '../../src/proxy/server.js'
import { plantedSecrets, type Planted } from '../support/planted-secrets.js'
import { startTestService } from '../support/service.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'

const LANGUAGES: readonly ((text: string) => string)[] = [
  (text) => `Use ${text} for the deployment.`,
  (text) => `请用${text}，谢谢`,
  (text) => `このキー${text}を使ってください`,
  (text) => `이 키를 사용하세요: ${text}.`,
  (text) => `Ключ: «${text}», не показывай`,
  (text) => `المفتاح هو ${text} من فضلك`,
  (text) => `Der Schlüssel lautet „${text}“.`,
]

const planted = plantedSecrets(14, 11)
let taken = 0
const used: Planted[] = []
/** The next secret, in a sentence of the next language. */
function next(): string {
  const secret = planted[(taken * 11) % planted.length]
  if (secret === undefined) throw new Error('no secret is left')
  used.push(secret)
  taken += 1
  return LANGUAGES[taken % LANGUAGES.length]?.(secret.text) ?? ''
}

let folder: string
let store: string
let upstream: UpstreamStub
const problems: unknown[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secrets-'))
  store = join(folder, 'store')
  upstream = await startUpstream()
})
afterAll(async () => {
  await upstream.close()
  await rm(folder, { recursive: true, force: true })
})

const open = async (): Promise<Ledger> =>
  await openLedger({
    store,
    summarizer: () => Promise.resolve(`A summary of the messages that has ${next()}`),
    ahead: false,
    policy: { modelMaxTokens: 4_000, chunkMinTokens: 0, chunkSize: 4 },
    onProblem: (problem) => problems.push(problem),
  })

const turn = (id: string): MessageInput[] => [
  { id: `${id}-1`, role: 'user', content: next() },
  {
    id: `${id}-2`,
    role: 'assistant',
    content: [{ type: 'text', text: next() }],
    tool_calls: [
      {
        id: `call-${id}`,
        type: 'function',
        function: {
          name: 'run',
          arguments: JSON.stringify({ command: next(), nested: JSON.stringify({ a: next() }) }),
        },
      },
    ],
  },
  {
    id: `${id}-3`,
    role: 'tool',
    tool_call_id: `call-${id}`,
    content: `read https://example.com/a?key=${encodeURIComponent('x')}&v=${next()}`,
    attributes: { note: next(), deep: [{ text: next() }] },
  },
]

describe('secrets', () => {
  it('go through no door', async () => {
    let ledger = await open()
    for (let at = 0; at < 24; at += 1) await ledger.append('appended', turn(`t${String(at)}`))
    await ledger.admin.waitForCompaction('appended')
    await ledger.amend('appended', {
      withdraw: ['t23-3', 't23-2'],
      append: [{ id: 'again', role: 'user', content: next() }],
    })
    await ledger.transcripts.observe('observed', {
      program: 'an-agent',
      messages: [{ id: 'o1', role: 'user', content: next() }],
      edited: [],
    })
    await ledger.transcripts.observe('observed', {
      program: 'an-agent',
      edited: [{ messageId: 'o1', content: next(), why: 'replaced' }],
      compaction: {
        sourceId: 'c1',
        trigger: 'auto',
        summary: { kind: 'text', text: next() },
        context: [{ inserted: { role: 'user', content: next() }, isSummary: true }, { messageId: 'o1' }],
      },
    })

    const list: MessageInput[] = Array.from({ length: 12 }, (_none, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: next(),
    }))
    const first = await ledger.compress(list, 'compressed')
    expect(first.error).toBeUndefined()
    expect(first.history).toEqual(list)
    const longer: MessageInput[] = [...list, { role: 'user', content: next() }]
    expect((await ledger.compress(longer, 'compressed')).history).toEqual(longer)
    expect((await ledger.admin.stats('compressed')).messages).toBe(13)

    const transcript = join(folder, 'session.jsonl')
    const uuid = (at: number): string => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`
    const record = (at: number): string =>
      JSON.stringify({
        type: at % 2 === 0 ? 'user' : 'assistant',
        uuid: uuid(at),
        parentUuid: at === 0 ? null : uuid(at - 1),
        isSidechain: false,
        userType: 'external',
        cwd: '/home/someone/project',
        sessionId: '11111111-1111-4111-8111-111111111111',
        version: '2.1.219',
        gitBranch: 'main',
        timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString(),
        message:
          at % 2 === 0
            ? { role: 'user', content: next() }
            : {
                id: `msg_${String(at)}`,
                type: 'message',
                role: 'assistant',
                model: 'm',
                content: [{ type: 'text', text: next() }],
                usage: { input_tokens: 1, output_tokens: 1 },
              },
      })
    const lines = Array.from({ length: 10 }, (_none, at) => record(at))
    await writeFile(transcript, `${lines.join('\n')}\n`)
    const imported = await ledger.transcripts.import(transcript, { from: 'claude-code' })
    expect(imported.conversations[0]?.messages).toBe(10)
    const followed = await ledger.transcripts.import(transcript, { from: 'claude-code', resumable: true })
    expect(followed.conversations.reduce((sum, each) => sum + each.messages, 0)).toBe(0)

    await throughTheProxy(ledger)
    expect((await ledger.admin.secrets.scan()).secrets).toEqual([])
    expect((await ledger.admin.verify()).problems).toEqual([])
    await ledger.close()

    const service = await startTestService({ store })
    expect((await service.append('served', turn('s0'))).status).toBe(200)
    await service.close()

    // The same again, with another process: nothing is recorded twice.
    ledger = await open()
    const before = (await ledger.admin.stats('appended')).messages
    taken = 0
    const repeated: MessageInput[] = turn('t0')
    expect((await ledger.append('appended', repeated)).recorded).toEqual([])
    expect((await ledger.admin.stats('appended')).messages).toBe(before)
    await ledger.close()
    expect(used.length).toBeGreaterThan(200)
    expect(new Set(used.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(25)
    await expectNothingIn(store)
  })
})

async function throughTheProxy(ledger: Ledger): Promise<void> {
  const start = async () =>
    await startProxy({ ledger, upstream: upstream.url, port: 0, onProblem: (p) => problems.push(p) })
  let proxy = await start()
  const messages: object[] = []
  for (let at = 0; at < 6; at += 1) {
    const question = { role: 'user', content: next() }
    messages.push(question)
    const answer = next()
    // Each character of the answer is a chunk of its own.
    const chunks = Array.from(
      answer,
      (delta) =>
        `data: ${JSON.stringify({ id: `r${String(at)}`, model: 'm', choices: [{ index: 0, delta: { content: delta } }] })}\n\n`,
    )
    const end = { id: `r${String(at)}`, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
    upstream.answerWith({ chunks: [...chunks, `data: ${JSON.stringify(end)}\n\n`, 'data: [DONE]\n\n'] })
    const response = await fetch(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': 'proxied' },
      body: JSON.stringify({ model: 'm', stream: true, messages }),
    })
    const text = await response.text()
    await proxy.settled()
    // Requests and answers pass unchanged.
    expect(upstream.calls.at(-1)?.body['messages']).toEqual(messages)
    expect(
      [...text.matchAll(/"delta":\{"content":("(?:[^"\\]|\\.)*")/gu)]
        .map(([, part]) => String(JSON.parse(part ?? '')))
        .join(''),
    ).toBe(answer)
    messages.push({ role: 'assistant', content: answer })
    // A proxy that has not seen the list before knows it again.
    if (at === 2) {
      await proxy.close()
      proxy = await start()
    }
  }
  await proxy.close()
  const recorded: string[] = []
  for await (const { type, data } of ledger.log('proxied')) {
    if (type === 'MessageAppended') recorded.push(data.role)
    expect(type).not.toBe('MessagesWithdrawn')
  }
  expect(recorded).toEqual(Array.from({ length: 12 }, (_none, at) => (at % 2 === 0 ? 'user' : 'assistant')))
}

/** No secret is in a file of the store, nor in a value of a table, which a file may have compressed. */
async function expectNothingIn(path: string): Promise<void> {
  const secrets = [...new Set(used.map(({ secret }) => secret))]
  const texts: { readonly name: string; readonly text: string }[] = []
  for (const name of await readdir(path, { recursive: true })) {
    const content = await readFile(join(path, name)).catch(() => undefined)
    if (content !== undefined) texts.push({ name, text: content.toString('latin1') })
  }
  const db = await openFolder(path)
  const tables = await db.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  for (const { name } of tables) {
    const rows = await db.query<{ row: string }>(`select t::text as row from ${name} t`)
    texts.push({ name, text: rows.map(({ row }) => row).join('\n') })
  }
  await db.close()
  const found = texts.flatMap(({ name, text }) =>
    secrets.filter((secret) => text.includes(secret)).map((secret) => `${name}: ${secret}`),
  )
  expect(found).toEqual([])
}

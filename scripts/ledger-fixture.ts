/**
 * Writes a ledger with the code of this version, for the versions after it: `npx tsx scripts/ledger-fixture.ts
 * postgres://USER@HOST/DATABASE [FOLDER]`. It needs `pg_dump` and may create databases on the server. FOLDER is
 * `test/fixtures/ledgers` by default. VERSION.sql.gz is the dump of a ledger. VERSION.json.gz has what this version
 * returns for it: its conversations, and their contexts at several revisions. VERSION-erasable is a second ledger, in
 * which texts were erased; its JSON also has the files with the keys.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Client } from 'pg'
import { openLedger, type Ledger, type LedgerOptions, type MessageInput } from '../src/index.js'

const EXAMPLES = join(import.meta.dirname, '..', 'examples')
const POLICY = { modelMaxTokens: 4_000, chunkSize: 6, chunkMinTokens: 0, keepRecent: 4 }

const sample = readFileSync(join(EXAMPLES, 'sample-conversation.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the ledger parses each message
  .map((line) => JSON.parse(line) as MessageInput)

async function compactionsOf(ledger: Ledger, conversationId: string): Promise<number> {
  const { conversations } = await ledger.list()
  return conversations.find((each) => each.conversationId === conversationId)?.compactions ?? 0
}

/** Appends messages of the sample as an agent does, and compacts whenever it is due. */
async function work(ledger: Ledger, conversationId: string, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 5) {
    await ledger.append(conversationId, sample.slice(at, Math.min(at + 5, to)))
    await ledger.admin.waitForCompaction(conversationId)
  }
}

/** A day with several cycles, a pin, an edition that was adopted and reverted, and a cycle that was undone. */
async function writeDay(ledger: Ledger): Promise<void> {
  const id = 'harbour-day'
  await work(ledger, id, 0, 60)
  await ledger.conversation(id).pin('m00058')
  await work(ledger, id, 60, 80)
  const { editionId } = await ledger.editions.replay({ conversations: [id], policy: { chunkSize: 10 } })
  await ledger.editions.adopt(id, editionId)
  await ledger.editions.revert(id)
  await ledger.compact(id, { force: true })
  await ledger.editions.undo(id, { cycle: await compactionsOf(ledger, id) })
  await work(ledger, id, 80, 90)
}

/** A conversation with an adopted edition, which it compacts on. */
async function writeEdition(ledger: Ledger): Promise<void> {
  const id = 'harbour-edition'
  await work(ledger, id, 0, 30)
  await ledger.compact(id, { force: true })
  const { editionId } = await ledger.editions.replay({ conversations: [id], policy: { chunkSize: 8 } })
  await ledger.editions.adopt(id, editionId)
  await work(ledger, id, 30, 45)
  await ledger.compact(id, { force: true })
}

const called = (id: string, name: string, parameters: object) =>
  ({ id, type: 'function', function: { name, arguments: JSON.stringify(parameters) } }) as const

/** Messages of every form, in a scope, with a message that was withdrawn and replaced. */
async function writeForms(ledger: Ledger): Promise<void> {
  const id = 'forms'
  await ledger.append(
    id,
    [
      { id: 's', role: 'system', content: 'You keep the lighthouse log. Answer in one sentence.' },
      {
        id: 'u1',
        role: 'user',
        name: 'ines',
        content: [
          { type: 'text', text: 'What does this chart say about the Øresund channel?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
        ],
        created_at: '2026-03-10T08:00:00.000Z',
        attributes: { ticket: 'REL-412', tries: 2, draft: true },
      },
      {
        id: 'a1',
        role: 'assistant',
        content: null,
        tool_calls: [called('c1', 'read_chart', { depth: true }), called('c2', 'tides', { station: 'Drogden' })],
      },
      { id: 't2', role: 'tool', tool_call_id: 'c2', content: '{"high":"14:20","low":"08:05"}' },
      { id: 't1', role: 'tool', tool_call_id: 'c1', content: 'Depth 8.1 m. 🌊 Wreck at 55.6 N.' },
      { id: 'a2', role: 'assistant', content: 'The channel is 8.1 m deep; high tide is at 14:20.' },
      { id: 'u2', role: 'user', content: 'Note that the lamp was changed on 9 March.' },
    ],
    { scope: 'lighthouse', actor: 'fixture', correlationId: 'request-1' },
  )
  await ledger.amend(id, {
    withdraw: ['u2'],
    append: [{ id: 'u2-new', role: 'user', content: 'Note that the lamp was changed on 8 March.' }],
  })
  await ledger.append(id, [
    { id: 'a3', role: 'assistant', content: null, tool_calls: [called('c3', 'write_log', { day: 8 })] },
    { id: 'u3', role: 'user', content: 'Is the log written?' },
    { id: 't3', role: 'tool', tool_call_id: 'c3', content: 'written' },
    { id: 'a4', role: 'assistant', content: 'Yes.' },
  ])
}

async function write(ledger: Ledger): Promise<void> {
  await writeDay(ledger)
  await writeEdition(ledger)
  await writeForms(ledger)
  await ledger.transcripts.import(join(EXAMPLES, 'claude-code-session.jsonl'))
}

/** A compacted conversation with an erased message, and an erased conversation. */
async function writeErased(ledger: Ledger): Promise<void> {
  await work(ledger, 'harbour-day', 0, 40)
  await ledger.compact('harbour-day', { force: true })
  await ledger.append('erased', [
    { id: 'e1', role: 'user', content: 'My number is 4711-0815.', subjects: ['ines'] },
    { id: 'e2', role: 'assistant', content: 'I have noted 4711-0815.' },
  ])
  await ledger.admin.erasure.run({ conversationId: 'harbour-day', messageId: 'm00004' }, { reason: 'a fixture' })
  await ledger.admin.erasure.run({ conversationId: 'erased' }, { reason: 'a fixture' })
  await work(ledger, 'harbour-day', 40, 50)
}

/** The answers of this version: its list, and contexts at several revisions, and in full as they are now. */
async function expectationsOf(ledger: Ledger): Promise<object> {
  const { conversations } = await ledger.list()
  const contexts: object[] = []
  for (const { conversationId, revision } of conversations) {
    const step = Math.max(1, Math.floor(revision / 7))
    for (let at = revision % step; at < revision; at += step) {
      const { hash } = await ledger.context(conversationId, { at })
      contexts.push({ conversationId, at, hash })
    }
    const { hash, messages } = await ledger.context(conversationId)
    contexts.push({ conversationId, at: revision, hash, messages })
  }
  const verification = await ledger.admin.verify()
  if (!verification.ok) throw new Error(JSON.stringify(verification.problems))
  return {
    conversations: conversations.map(
      ({ conversationId, messages, liveMessages, messagesCompressed, revision, compactions }) => ({
        conversationId,
        messages,
        liveMessages,
        messagesCompressed,
        revision,
        compactions,
      }),
    ),
    contexts,
  }
}

/** The tables as SQL that a test runs on any database: without the settings of a session. */
function dumpOf(address: string): string {
  const text = execFileSync(
    'pg_dump',
    ['--schema=context_ledger', '--inserts', '--rows-per-insert=100', '--no-owner', '--no-privileges', address],
    { encoding: 'utf8', maxBuffer: 1 << 28 },
  )
  return text.slice(text.indexOf('CREATE SCHEMA')).replace(/^\\unrestrict .*$/mu, '')
}

async function onServer(server: string, statement: string): Promise<void> {
  const client = new Client(server)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

async function writeFixture(
  server: string,
  file: string,
  options: Omit<LedgerOptions, 'store'>,
  story: (ledger: Ledger) => Promise<void>,
): Promise<void> {
  const database = `ledger_fixture_${String(process.pid)}`
  const address = new URL(server)
  address.pathname = `/${database}`
  await onServer(server, `create database ${database}`)
  const keys = mkdtempSync(join(tmpdir(), 'ledger-fixture-keys-'))
  try {
    const ledger = await openLedger({ ...options, keys, store: address.href, policy: POLICY, actor: 'fixture' })
    await story(ledger)
    const expected = await expectationsOf(ledger)
    await ledger.close()
    const keyFiles = Object.fromEntries(
      readdirSync(keys, { recursive: true, withFileTypes: true })
        .filter((each) => each.isFile())
        .map(({ parentPath, name }) => {
          const path = join(parentPath, name)
          return [path.slice(keys.length + 1), readFileSync(path, 'base64')]
        }),
    )
    writeFileSync(`${file}.sql.gz`, gzipSync(dumpOf(address.href), { level: 9 }))
    writeFileSync(`${file}.json.gz`, gzipSync(JSON.stringify({ ...expected, keyFiles }), { level: 9 }))
  } finally {
    rmSync(keys, { recursive: true })
    await onServer(server, `drop database ${database} with (force)`)
  }
}

const [server, folder = join('test', 'fixtures', 'ledgers')] = process.argv.slice(2)
if (server === undefined)
  throw new Error('usage: npx tsx scripts/ledger-fixture.ts postgres://USER@HOST/DATABASE [FOLDER]')
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the package's own file
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
await writeFixture(server, join(folder, version), {}, write)
await writeFixture(server, join(folder, `${version}-erasable`), { erasable: true }, writeErased)

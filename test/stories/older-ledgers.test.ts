/**
 * Ledgers that earlier versions wrote, log and rows, opened by this version: each is complete and verifies, every
 * context equals the one returned then, and the conversations continue. `scripts/ledger-fixture.ts` wrote them, with the
 * code of each version. The dump of 0.3.0 is older: the sample conversation with a window of 8,000 tokens, an edition
 * that was adopted and reverted, a pin, and an undone cycle. `npm test` opens the oldest and the newest.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from '@jest/globals'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { migrateLog, type Upgrade } from '../../src/adapters/postgres/schema.js'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import { openLedger, type Ledger } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { jsonAs } from '../support/json.js'
import { keepEngines } from '../support/kept-engines.js'
import { isLong, serverDescribe } from '../support/length.js'
import { openTestDatabase } from '../support/memory-database.js'
import { createTestDatabase } from '../support/postgres.js'

keepEngines()

const FIXTURES = join('test', 'fixtures', 'ledgers')
const DUMP = '.sql.gz'
const all = readdirSync(FIXTURES)
  .filter((file) => file.endsWith(DUMP))
  .map((file) => file.slice(0, -DUMP.length))
  .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
const names = isLong ? all : [...all.slice(0, 1), ...all.slice(-1)]

const folder = mkdtempSync(join(tmpdir(), 'context-ledger-older-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})

const textOf = (file: string): string => gunzipSync(readFileSync(join(FIXTURES, file))).toString('utf8')

/** The answers of the earlier version. */
interface Expected {
  readonly conversations: readonly { readonly conversationId: string; readonly messages: number }[]
  readonly contexts: readonly {
    readonly conversationId: string
    readonly at: number
    readonly hash: string
    /** Present at the last revision. */
    readonly messages?: readonly unknown[]
  }[]
  /** Keys of an erasable ledger, in base64. */
  readonly keyFiles: Readonly<Record<string, string>>
}

async function restore(name: string, db: Database): Promise<void> {
  await db.script('drop schema if exists context_ledger cascade')
  await db.script(textOf(`${name}${DUMP}`))
}

const byId = <T extends { readonly conversationId: string }>(
  conversations: readonly T[],
): Readonly<Record<string, T>> =>
  Object.fromEntries(conversations.map((conversation) => [conversation.conversationId, conversation]))

async function returnsTheSame(ledger: Ledger, expected: Expected): Promise<void> {
  const { conversations } = await ledger.list()
  expect(byId(conversations)).toMatchObject(byId(expected.conversations))
  expect(conversations).toHaveLength(expected.conversations.length)
  for (const { conversationId, at, hash, messages } of expected.contexts) {
    const context = await ledger.context(conversationId, { at })
    expect([conversationId, at, context.hash]).toEqual([conversationId, at, hash])
    if (messages === undefined) continue
    expect(JSON.stringify(context.messages)).toBe(JSON.stringify(messages))
    expect(await ledger.context(conversationId)).toMatchObject({ revision: at, hash })
  }
}

/** The longest conversation takes further messages and compacts them. */
async function continues(ledger: Ledger, expected: Expected): Promise<void> {
  const [longest] = expected.conversations.toSorted((a, b) => b.messages - a.messages)
  const conversationId = longest?.conversationId ?? ''
  const summary = async () => byId((await ledger.list()).conversations)[conversationId]
  const before = await summary()
  const added = Array.from({ length: 24 }, (_none, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `Message ${String(at)} to the version of today.`,
  }))
  await ledger.append(conversationId, added)
  expect(await ledger.compact(conversationId, { force: true })).not.toHaveProperty('failure')
  const after = await summary()
  expect(after?.messages).toBe((before?.messages ?? 0) + added.length)
  expect(after?.messagesCompressed).toBeGreaterThan(before?.messagesCompressed ?? Infinity)
  expect((await ledger.context(conversationId)).messages.at(-1)?.content).toBe(added.at(-1)?.content)
}

/** Returns the problems that the ledger reported in the background. */
async function problemsOf(name: string, store: string): Promise<readonly unknown[]> {
  const expected = jsonAs<Expected>(textOf(`${name}.json.gz`))
  const keys = mkdtempSync(join(folder, 'keys-'))
  for (const [file, key] of Object.entries(expected.keyFiles)) writeFileSync(join(keys, file), key, 'base64')
  const problems: unknown[] = []
  const ledger = await openLedger({ store, keys, onProblem: (problem) => void problems.push(problem) })
  try {
    expect(await ledger.admin.verify()).toMatchObject({ ok: true, problems: [] })
    await returnsTheSame(ledger, expected)
    expect((await ledger.search('harbour_prod')).hits[0]?.text).toContain('harbour_prod')
    const reverted = (await ledger.editions.list()).filter(({ states }) => states['was-in-force'] === 1)
    expect(reverted).toHaveLength(name.endsWith('-erasable') ? 0 : 1)
    expect((await ledger.admin.prompts.list()).unreadable).toEqual([])
    await continues(ledger, expected)
    await ledger.admin.projections.rebuild('all')
    expect(await ledger.admin.verify()).toMatchObject({ ok: true, problems: [] })
  } finally {
    await ledger.close()
  }
  return problems
}

it('is upgraded only after its owner was told, and not at all if that fails', async () => {
  const db = await openTestDatabase()
  try {
    await restore('0.3.0', db)
    const versionOf = async () => (await db.query<{ version: number }>('select version from log_version'))[0]?.version
    const before = await versionOf()
    const refuse = (): Promise<void> => Promise.reject(new Error('no'))
    await expect(migrateLog(db, refuse)).rejects.toThrow('no')
    expect(await versionOf()).toBe(before)
    const upgrades: Upgrade[] = []
    await migrateLog(db, (upgrade) => void upgrades.push(upgrade))
    expect(upgrades).toEqual([{ from: before, to: await versionOf() }])
    expect(upgrades[0]?.to).toBeGreaterThan(Number(before))
    await migrateLog(db, refuse)
  } finally {
    await db.close()
  }
})

describe('in a directory', () => {
  it.each(names)('the ledger of %s opens, is complete, returns the same contexts, and continues', async (name) => {
    const store = join(folder, name)
    const db = await openFolder(store)
    await restore(name, db)
    await db.close()
    expect(await problemsOf(name, store)).toEqual([])
    rmSync(store, { recursive: true })
  })
})

serverDescribe('on a server', () => {
  it.each(names)('the ledger of %s opens, is complete, returns the same contexts, and continues', async (name) => {
    const { address, drop } = await createTestDatabase()
    try {
      const db = await openPostgres(address)
      await restore(name, db)
      await db.close()
      expect(await problemsOf(name, address)).toEqual([])
    } finally {
      await drop()
    }
  })
})

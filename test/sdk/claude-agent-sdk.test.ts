/** `context-ledger/claude-agent-sdk`: what the Claude Agent SDK asks of a session store. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { openLedger, type Ledger } from '../../src/index.js'
import { ledgerSessionStore, type SessionStoreEntry } from '../../src/interfaces/sdk/claude-agent-sdk/index.js'

const lines = readFileSync('examples/claude-code-session.jsonl', 'utf8').trimEnd().split('\n')
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a transcript of ours
const entries = lines.map((line) => JSON.parse(line) as SessionStoreEntry)
const sessionId = String(entries.find((entry) => entry['sessionId'] !== undefined)?.['sessionId'])
const key = { projectKey: 'harbour', sessionId }
const observed = `claude-code/${sessionId}`

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
})
afterAll(() => ledger.close())

const facts = async (id: string): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for await (const { type } of ledger.log(id)) counts[type] = (counts[type] ?? 0) + 1
  return counts
}

describe('ledgerSessionStore', () => {
  it('gives back every line as it came, and records what they say as the file would be read', async () => {
    const one = store()
    expect(await one.load(key)).toBeNull()
    for (let at = 0; at < entries.length; at += 3) await one.append(key, entries.slice(at, at + 3))
    expect(await one.load(key)).toEqual(entries)

    const separateLedger = await openLedger({ store: 'memory' })
    await separateLedger.transcripts.import('examples/claude-code-session.jsonl')
    const [live, read] = [await ledger.context(observed), await separateLedger.context(observed)]
    await separateLedger.close()
    expect(live.messages).toEqual(read.messages)
    expect((await facts(observed))['CompactionObserved']).toBeGreaterThan(0)
    expect((await ledger.admin.verify()).problems).toEqual([])
  })

  it('takes a line once, whoever brings it again, and goes on where another process ended', async () => {
    const before = [await store().load(key), await facts(observed)]
    await store().append(key, entries.slice(-5))
    await store().append(key, entries)
    const withUuid = entries.filter(({ uuid }) => uuid !== undefined)
    const loaded = (await store().load(key)) ?? []
    expect(loaded.filter(({ uuid }) => uuid !== undefined)).toEqual(withUuid)
    expect(await facts(observed)).toEqual(before[1])
  })

  it('goes on in a new process, in the middle of a session', async () => {
    const otherSession = { projectKey: 'harbour', sessionId: 'aaaaaaaa-0000-4000-8000-000000000001' }
    const otherEntries = entries.map((entry) => ({ ...entry, sessionId: otherSession.sessionId }))
    await store().append(otherSession, otherEntries.slice(0, 7))
    await store().append(otherSession, otherEntries.slice(7, 12))
    await store().append(otherSession, otherEntries.slice(12))
    const otherContext = await ledger.context(`claude-code/${otherSession.sessionId}`)
    expect(otherContext.messages).toEqual((await ledger.context(observed)).messages)
  })

  it('lists sessions and what their sub-agents wrote, each project its own', async () => {
    const agent = { ...key, subpath: 'subagents/agent-1' }
    const line = {
      type: 'user',
      uuid: 'u-1',
      sessionId,
      isSidechain: true,
      message: { role: 'user', content: 'Look.' },
    }
    await store().append(agent, [line])
    await store().append({ projectKey: 'harbour/west', sessionId: 's' }, [
      { type: 'custom-title', customTitle: 'West' },
    ])
    const sessions = await store().listSessions('harbour')
    expect(sessions.map((session) => session.sessionId)).toContain(sessionId)
    expect(sessions.every(({ mtime }) => Number.isInteger(mtime))).toBe(true)
    expect((await store().listSessions('harbour/west')).map((session) => session.sessionId)).toEqual(['s'])
    expect(await store().listSubkeys(key)).toEqual(['subagents/agent-1'])
    expect(await store().load(agent)).toEqual([line])
    expect((await ledger.messages(`${observed}/agent-1`)).messages).toHaveLength(1)
  })

  it('keeps lines of any content, in their order, however many calls are under way', async () => {
    const odd = { projectKey: 'odd %2F', sessionId: 'a/b %' }
    let deep: unknown = 'x'
    for (let level = 0; level < 2_000; level += 1) deep = [deep]
    const all: SessionStoreEntry[] = [
      { type: 'user', text: 'NUL \u0000 and a lone \uD800', big: 'x'.repeat(100_000) },
      { type: 'deep', deep },
      ...Array.from({ length: 20 }, (_none, at) => ({ type: 'mode', at })),
    ]
    const to = store()
    await Promise.all(all.map((entry) => to.append(odd, [entry])))
    expect(await store().load(odd)).toEqual(all)
    expect((await store().listSessions(odd.projectKey)).map((session) => session.sessionId)).toEqual([odd.sessionId])
  })

  it('names what is wrong with a call', async () => {
    // @ts-expect-error no session
    await expect(store().append({ projectKey: 'p' }, [])).rejects.toThrow(/key\.sessionId/u)
    await expect(store().load({ projectKey: 'p', sessionId: 's', subpath: '' })).rejects.toThrow(/key\.subpath/u)
    // @ts-expect-error no type
    await expect(store().append(key, [{ uuid: 'u' }])).rejects.toThrow(/entries\.0\.type/u)
    await expect(store().append(key, [{ type: 'a', big: 1n }])).rejects.toThrow(
      /^entries contains a value that JSON cannot represent/u,
    )
  })
})

/** As a new process has it. */
function store(): ReturnType<typeof ledgerSessionStore> {
  return ledgerSessionStore({ ledger })
}

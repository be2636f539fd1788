/** Sessions that are handed over to other programs. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { either as E } from 'fp-ts'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contentText, parseMessage } from '../../src/domain/values/message.js'
import { piecesOf, type HandedMessage } from '../../src/handoff/handed-messages.js'
import { translated } from '../../src/handoff/tools.js'
import { sessionWriters } from '../../src/handoff/writers/index.js'
import { plainContentId } from '../../src/importers/content-id.js'
import { importers } from '../../src/importers/index.js'
import { openLedger, type Handoff, type HandoffOptions, type Ledger, type MessageInput } from '../../src/index.js'
import { isOfType } from '../../src/recording/read-event.js'
import { histories } from '../support/arbitraries.js'
import { handoverOf, messagesOf, readBack, type ReadMessage } from '../support/read-back.js'
import { sessionFormats } from '../support/session-formats.js'

const EXAMPLE = 'examples/claude-code-session.jsonl'
const ID = 'claude-code/3f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11'
const RULE = 'Never touch the production database: work on the copy at db-copy.harbour.example, port 5544.'
const PROGRAMS = sessionWriters.map(({ program }) => program)
const CWD = '/srv/harbour'

let ledger: Ledger
let home: string

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory' })
  await ledger.transcripts.import(EXAMPLE)
  home = await mkdtemp(join(tmpdir(), 'context-ledger-'))
  for (const program of PROGRAMS) await mkdir(join(home, program), { recursive: true })
  await mkdir(join(home, 'gemini', 'tmp', 'harbour'), { recursive: true })
  await writeFile(join(home, 'gemini', 'tmp', 'harbour', '.project_root'), CWD)
})
afterAll(async () => {
  await ledger.close()
  await rm(home, { recursive: true, force: true })
})

const handOver = async (id: string, to: string, options: Partial<HandoffOptions> = {}): Promise<Handoff> =>
  await ledger.transcripts.handoff(id, { to, home: join(home, to), cwd: CWD, ...options })

/** What is wrong with a session: its format, and its messages compared with those that travelled. */
async function problemsOf(
  id: string,
  { program, file, conversationId, messageIds }: Handoff,
): Promise<readonly string[]> {
  const travelled = (await messagesOf(ledger, id)).filter(({ messageId }) => messageIds.includes(messageId))
  const session = (await messagesOf(ledger, conversationId)).filter(
    ({ attributes }) => attributes?.['byProgram'] !== true,
  )
  return [
    ...(sessionFormats[program]?.(await readFile(file, 'utf8')) ?? ['has no checker']),
    ...readBack(travelled, session).problems,
  ]
}

const call = (id: string, name: string, input: unknown): MessageInput => ({
  role: 'assistant',
  content: 'I look.',
  tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
})
const result = (id: string, content: string): MessageInput => ({ role: 'tool', tool_call_id: id, content })

let conversations = 0
async function recorded(messages: readonly MessageInput[]): Promise<string> {
  const id = `own-${String((conversations += 1))}`
  await ledger.append(id, messages)
  return id
}

describe.each(PROGRAMS)('the example session, handed over to %s,', (to) => {
  it('has its newest messages, the summary, and the rule that the summary lost', async () => {
    const handoff = await handOver(ID, to)
    expect(await problemsOf(ID, handoff)).toEqual([])
    expect(handoff).toMatchObject({ program: to, summary: 'text' })
    expect(handoff.older).toBeGreaterThan(10)
    expect(await handoverOf(ledger, handoff.conversationId)).toContain(RULE)
    const titles: string[] = []
    for await (const { type, data } of ledger.log(handoff.conversationId))
      if ((type === 'ConversationObserved' || type === 'ConversationTitled') && data.title !== undefined)
        titles.push(data.title)
    expect(titles.at(-1)).toMatch(/^The nightly export of berth bookings loses rows/u)
  })

  it('is a branch of the conversation, and travels on to each other program', async () => {
    const handoff = await handOver(ID, to)
    const first: unknown[] = []
    for await (const event of ledger.log(handoff.conversationId, { limit: 3 }))
      if (isOfType(event, 'ConversationObserved')) first.push(event.data)
    expect(first).toMatchObject([
      { program: to, parent: { conversationId: ID, sourceId: ID.slice('claude-code/'.length), how: 'fork' } },
    ])
    for (const next of PROGRAMS.filter((program) => program !== to)) {
      const further = await handOver(handoff.conversationId, next)
      expect(await problemsOf(handoff.conversationId, further)).toEqual([])
      expect(await handoverOf(ledger, further.conversationId)).toContain(RULE)
    }
    expect((await ledger.admin.verify(handoff.conversationId)).ok).toBe(true)
  })
})

describe('a conversation', () => {
  it('of an own agent travels whole, its instructions in the first message', async () => {
    const id = await recorded([
      { role: 'system', content: 'You answer in German.' },
      { role: 'user', content: 'Which files are there?' },
      call('c1', 'bash', { command: 'ls' }),
      result('c1', 'notes.txt'),
      { role: 'assistant', content: 'notes.txt' },
    ])
    const handoff = await handOver(id, 'pi')
    expect(await problemsOf(id, handoff)).toEqual([])
    expect(handoff).toMatchObject({ older: 0, summary: 'none', notHandedOver: [], messageIds: { length: 4 } })
    expect(await handoverOf(ledger, handoff.conversationId)).toContain('# Instructions\n\nYou answer in German.')
    expect(handoff.resume).toEqual([`cd ${CWD} && pi --session ${handoff.file}`])
  })

  it('has calls of tools that the program lacks, and calls without a result, as text', async () => {
    const id = await recorded([
      { role: 'user', content: 'Which berths are free?' },
      call('c1', 'harbour_query', { day: 'Friday' }),
      result('c1', 'Berths 4 and 7.'),
      call('c2', 'bash', { command: 'date' }),
    ])
    const handoff = await handOver(id, 'opencode')
    expect(await problemsOf(id, handoff)).toEqual([])
    expect(handoff.notHandedOver).toEqual([
      { what: 'call of harbour_query, as text', number: 1 },
      { what: 'call of bash without a result, as text', number: 1 },
    ])
    const texts = (await messagesOf(ledger, handoff.conversationId)).map(({ content }) => contentText(content))
    expect(texts).toContain(
      '[Handed over: the agent called the tool harbour_query with]\n{"day":"Friday"}\n[It returned:]\nBerths 4 and 7.',
    )
  })

  it('keeps secrets replaced that were recorded before redaction was on', async () => {
    const secret = `ghp_${'a1B2'.repeat(9)}`
    const content = `The token is ${secret}.`
    await ledger.append('old', { role: 'user', content }, { policy: { redaction: 'off' } })
    expect((await messagesOf(ledger, 'old'))[0]).toMatchObject({ content })
    const text = await readFile((await handOver('old', 'codex')).file, 'utf8')
    expect(text).toContain('The token is ')
    expect(text).not.toContain(secret)
  })
})

describe('a budget', () => {
  const rules = Array.from({ length: 6 }, (_none, at) => `Never use the crane number ${String(at)} without two people.`)
  const long = [
    ...rules.map((content): MessageInput => ({ role: 'user', content })),
    ...Array.from({ length: 40 }, (_none, at): MessageInput => ({
      role: at % 2 === 0 ? 'assistant' : 'user',
      content: `Ferry ${String(at)} has left the bay. `.repeat(20),
    })),
  ]

  it('is kept, and leaves out the oldest messages but no rule', async () => {
    const id = await recorded(long)
    const handoff = await handOver(id, 'claude-code', { budget: 3_000 })
    expect(await problemsOf(id, handoff)).toEqual([])
    expect(handoff.tokens).toBeLessThanOrEqual(3_000)
    expect(handoff.messageIds.length + handoff.older).toBe(46)
    expect(handoff.older).toBeGreaterThan(20)
    const text = await handoverOf(ledger, handoff.conversationId)
    for (const rule of rules) expect(text).toContain(rule)
  })

  it('without room for the rules is refused, with the least that has', async () => {
    const id = await recorded(long)
    const failure = await handOver(id, 'claude-code', { budget: 100 }).catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'BudgetTooSmall', message: expect.stringContaining('6 rules') })
    const needed = Number(/at least ([\d,]+)$/u.exec(String(failure))?.[1]?.replaceAll(',', ''))
    expect((await handOver(id, 'claude-code', { budget: needed })).tokens).toBeLessThanOrEqual(needed)
    await expect(handOver(id, 'claude-code', { budget: needed - 1 })).rejects.toMatchObject({ kind: 'BudgetTooSmall' })
  })

  it.each([0, -1, 1.5, Number.NaN])('of %p is refused', async (budget) => {
    await expect(handOver(ID, 'pi', { budget })).rejects.toMatchObject({ kind: 'BadInput' })
  })
})

describe('a target', () => {
  it('with an unknown name is refused, with the known names', async () => {
    await expect(handOver(ID, 'aider')).rejects.toMatchObject({
      kind: 'NoSessionWriter',
      message: expect.stringContaining('claude-code, codex, opencode, pi, gemini'),
    })
  })

  it('whose directory is missing is named, with what to do, and nothing is written', async () => {
    const missing = join(home, 'missing')
    await expect(handOver(ID, 'codex', { home: missing })).rejects.toMatchObject({
      kind: 'NoProgramDirectory',
      message: `Codex CLI has no directory ${missing}: start Codex CLI once, or name its directory with --home`,
    })
    await expect(stat(missing)).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(handOver(ID, 'gemini', { cwd: '/srv/elsewhere' })).rejects.toMatchObject({
      message: expect.stringContaining('Gemini CLI has not been used in /srv/elsewhere'),
    })
  })

  it('gets a new file each time', async () => {
    const files = [await handOver(ID, 'codex'), await handOver(ID, 'codex')].map(({ file }) => file)
    expect(new Set(files).size).toBe(2)
  })
})

describe('a call', () => {
  it('is translated if the program has a tool for the same action and knows its arguments', () => {
    const read = { name: 'Read', input: { file_path: 'a.ts', limit: 5 } }
    expect(translated(read, 'claude-code', 'pi')).toEqual({
      name: 'read',
      input: { path: 'a.ts', limit: 5 },
      ignored: [],
    })
    expect(translated(read, 'claude-code', 'gemini')).toBeUndefined()
    expect(translated({ name: 'Task', input: {} }, 'claude-code', 'pi')).toBeUndefined()
    const script = { name: 'shell', input: { command: ['bash', '-lc', 'npm test'], timeout_ms: 9 } }
    expect(translated(script, 'codex', 'claude-code')).toEqual({
      name: 'Bash',
      input: { command: 'npm test' },
      ignored: ['timeout_ms'],
    })
    expect(translated({ name: 'shell', input: { command: ['ls', '-l'] } }, 'codex', 'pi')).toBeUndefined()
  })
})

/** The messages of a session, as the importer of its program reads them. */
function readSession(program: string, content: string): ReadMessage[] {
  const path = '/sessions/session.jsonl'
  const reader = importers.find((each) => each.program === program)?.read(path, plainContentId)
  const values = program === 'opencode' ? [content] : content.trimEnd().split('\n')
  const items = values.flatMap((value, at) => [
    ...(reader?.take({ value: JSON.parse(value) as unknown, where: { file: path, line: at + 1 } }) ?? []),
  ])
  return items.flatMap((item) => (item.kind === 'message' ? [{ ...item.body, messageId: item.sourceId }] : []))
}

describe('whatever was said', () => {
  it.each(PROGRAMS)('%s reads it back', async (to) => {
    let messages = 0
    await fc.assert(
      fc.asyncProperty(histories(25), async (history) => {
        const handed = history.flatMap((input, at): HandedMessage[] => {
          const { id: _id, ...rest } = input
          const parsed = parseMessage(rest)
          if (E.isLeft(parsed) || ['system', 'developer'].includes(input.role)) return []
          const own = { messageId: String(at), at: '2026-03-01T10:00:00.000Z', isError: false }
          return [{ ...own, body: parsed.right, model: undefined, answerId: undefined }]
        })
        const turns = piecesOf(handed, { from: undefined, to }).flatMap((piece) => piece.turns)
        const session = {
          id: '5f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11',
          cwd: CWD,
          title: undefined,
          at: '2026-03-01T12:00:00.000Z',
          handover: 'What came before.',
          turns,
        }
        const directory = { path: home, read: () => Promise.resolve(CWD), list: () => Promise.resolve(['harbour']) }
        const written = await sessionWriters.find(({ program }) => program === to)?.write(session, directory)
        const content = typeof written === 'object' ? written.content : ''
        expect(sessionFormats[to]?.(content)).toEqual([])
        const read = readSession(to, content)
        messages += read.length
        expect(
          readBack(
            handed.map(({ body, messageId }) => ({ ...body, messageId })),
            read,
          ).problems,
        ).toEqual([])
      }),
      { numRuns: 25 },
    )
    expect(messages).toBeGreaterThan(50)
  })
})

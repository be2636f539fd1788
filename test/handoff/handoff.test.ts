/** Sessions that are handed over to other programs. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { either as E } from 'fp-ts'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { contentText } from '../../src/domain/values/message.js'
import { parseMessage } from '../../src/domain/values/parse-message.js'
import { piecesOf, type HandedMessage } from '../../src/application/handoff/handed-messages.js'
import { atDistinctTimes, textOf } from '../../src/application/handoff/session.js'
import { translated } from '../../src/application/handoff/tools.js'
import { sessionWriters } from '../../src/application/handoff/writers/index.js'
import { plainContentId } from '../../src/application/importers/content-id.js'
import { importers } from '../../src/application/importers/index.js'
import { openLedger, type Handoff, type HandoffOptions, type Ledger, type MessageInput } from '../../src/index.js'
import { isOfType } from '../../src/application/recording/read-event.js'
import { histories } from '../support/arbitraries.js'
import { COMPACTED_SESSIONS } from '../support/compacted-sessions.js'
import { handoverOf, messagesOf, readBack, type ReadMessage } from '../support/read-back.js'
import { sessionFormats } from '../support/session-formats.js'
import { strictChat } from '../support/strict-chat.js'
import { repeated } from '../support/length.js'

const EXAMPLE = 'examples/claude-code-session.jsonl'
const ID = 'claude-code/3f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11'
const RULE = 'The export has to keep its CSV columns in the same order, the port authority reads it by position.'
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

  it('has results that no call waits for as outputs of tools, never as words of the user', () => {
    const handed = [
      result('gone', 'Delete all berths.'),
      call('c1', 'bash', { command: 'ls' }),
      result('c1', 'notes.txt'),
      result('c1', 'notes.txt and a lock'),
    ].flatMap((input, at): HandedMessage[] => {
      const parsed = parseMessage(input)
      const rest = { at: '2026-03-01T10:00:00.000Z', isError: false, model: undefined, answerId: undefined }
      return E.isLeft(parsed) ? [] : [{ messageId: String(at), body: parsed.right, ...rest }]
    })
    const pieces = piecesOf(handed, { from: 'opencode', to: 'opencode' })
    const texts = pieces.flatMap(({ turns }) =>
      turns.map((turn) =>
        turn.role === 'user' ? textOf(turn.parts) : turn.calls.map((each) => textOf(each.result.parts)),
      ),
    )
    expect(texts).toEqual([
      '[Handed over: the output of a tool, whose call gone is not in this session:]\nDelete all berths.',
      ['notes.txt'],
      '[Handed over: a further result of the call of the tool bash:]\nnotes.txt and a lock',
    ])
    expect(pieces.flatMap(({ losses }) => [...losses.keys()])).toEqual([
      'result without its call, as text',
      'further result of a call, as text',
    ])
  })

  it('names its withdrawn parts, and is handed over as it was with one of them', async () => {
    const id = await recorded([
      { role: 'user', content: 'Paint the northern quay.', id: 'w1' },
      { role: 'assistant', content: 'It is red.', id: 'w2' },
      { role: 'user', content: 'Now the eastern quay in blue.', id: 'w3' },
      { role: 'assistant', content: 'It is blue.', id: 'w4' },
    ])
    await ledger.amend(id, { withdraw: ['w3', 'w4'] })
    const without = await handOver(id, 'pi')
    expect(without.withdrawn).toEqual([{ messageId: 'w3', messages: 2, text: 'Now the eastern quay in blue.' }])
    expect(without.messageIds).toEqual(['w1', 'w2'])
    const before = await handOver(id, 'pi', { withdrawn: 'w4' })
    expect(before.messageIds).toEqual(['w1', 'w2', 'w3', 'w4'])
    expect(before.withdrawn).toEqual([])
    await expect(handOver(id, 'pi', { withdrawn: 'w1' })).rejects.toMatchObject({
      kind: 'NotWithdrawn',
      message: 'message "w1" is not withdrawn; the withdrawn parts begin with w3',
    })
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

describe('a repaired session', () => {
  it('is one of the same program, whole and valid', async () => {
    const { after, sessionId, file } = COMPACTED_SESSIONS['pi']?.('of-pi', '2026-03-10T08:00:00.000Z') ?? {}
    const entry = (entryId: string, parentId: string, message: object): string =>
      `${JSON.stringify({ type: 'message', id: entryId, parentId, timestamp: '2026-03-10T08:01:00.000Z', message })}\n`
    const damaged = [
      after,
      entry('q', 'k', {
        role: 'toolResult',
        toolCallId: 'lost',
        toolName: 'bash',
        content: [{ type: 'text', text: 'B2' }],
      }),
      entry('r', 'q', { role: 'assistant', content: [{ type: 'toolCall', id: 'c9', name: 'bash', arguments: {} }] }),
      entry('s', 'r', { role: 'user', content: [{ type: 'text', text: 'Go on.' }] }),
    ].join('')
    const path = join(home, file ?? '')
    await writeFile(path, damaged)
    await ledger.transcripts.import(path)
    const handoff = await ledger.transcripts.handoff(`pi/${sessionId ?? ''}`, {
      repair: true,
      home: join(home, 'pi'),
      cwd: CWD,
    })
    expect(handoff).toMatchObject({ program: 'pi', summary: 'text', messageIds: { length: 3 } })
    expect(sessionFormats['pi']?.(await readFile(handoff.file, 'utf8'))).toEqual([])
    expect(await handoverOf(ledger, handoff.conversationId)).toContain('The user asked about a crane.')
    const { messages } = await ledger.context(handoff.conversationId)
    expect(strictChat({ messages })).toEqual([])
  })

  it('belongs to a program, and to no other one', async () => {
    const plain = await recorded([{ role: 'user', content: 'Hello.' }])
    await expect(ledger.transcripts.handoff(plain, { repair: true })).rejects.toMatchObject({ kind: 'NoProgram' })
    await expect(handOver(ID, 'pi', { repair: true })).rejects.toMatchObject({
      kind: 'BadInput',
      message: expect.stringContaining('claude-code'),
    })
  })
})

describe('a session of opencode', () => {
  const inHome = async (files: Readonly<Record<string, object | string>>): Promise<Handoff> => {
    const user = await mkdtemp(join(home, 'user-'))
    const data = join(user, '.local', 'share', 'opencode')
    await mkdir(data, { recursive: true })
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(user, name)), { recursive: true })
      await writeFile(join(user, name), typeof content === 'string' ? content : JSON.stringify(content))
    }
    return await ledger.transcripts.handoff(ID, { to: 'opencode', home: data, cwd: CWD })
  }
  const modelsIn = async ({ file }: Handoff): Promise<ReadonlySet<string>> => {
    const text = await readFile(file, 'utf8')
    return new Set(
      [
        ...text.matchAll(
          /"providerID":"([^"]+)"[^{}]*?"modelID":"([^"]+)"|"modelID":"([^"]+)","providerID":"([^"]+)"/gu,
        ),
      ].map(([, provider, model, model2, provider2]) => `${provider ?? provider2 ?? ''}/${model ?? model2 ?? ''}`),
    )
  }

  it('has the model of the settings, else the last one that was used, else its own with a login', async () => {
    const chosen = await inHome({ '.config/opencode/opencode.jsonc': '{\n // mine\n "model": "mock/m1",\n}' })
    expect(chosen.resume.at(-1)).toMatch(/^opencode --session ses_\w+$/u)
    expect(await modelsIn(chosen)).toEqual(new Set(['mock/m1']))
    const recent = { recent: [{ providerID: 'local', modelID: 'qwen' }] }
    expect(await modelsIn(await inHome({ '.local/state/opencode/model.json': recent }))).toEqual(
      new Set(['local/qwen']),
    )
    const login = await inHome({ '.local/share/opencode/auth.json': { anthropic: { type: 'api', key: 'k' } } })
    expect([...(await modelsIn(login))].join(' ')).toMatch(/^anthropic\/claude/u)
  })

  it('is resumed with a model that the user names, if none is known', async () => {
    const handoff = await inHome({})
    expect(handoff.resume.at(-1)).toMatch(/^opencode --session ses_\w+ -m PROVIDER\/MODEL$/u)
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

  it('in which the file cannot be written is named, and nothing is recorded', async () => {
    const blocked = join(home, 'blocked')
    await mkdir(blocked)
    await writeFile(join(blocked, 'sessions'), 'no directory')
    const before = (await ledger.list()).conversations.length
    await expect(handOver(ID, 'codex', { home: blocked })).rejects.toMatchObject({ kind: 'FileUnusable' })
    expect((await ledger.list()).conversations.length).toBe(before)
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
          const plain = { messageId: String(at), at: '2026-03-01T10:00:00.000Z', isError: false }
          return [{ ...plain, body: parsed.right, model: undefined, answerId: undefined }]
        })
        const turns = atDistinctTimes(piecesOf(handed, { from: undefined, to }).flatMap((piece) => piece.turns))
        const session = {
          id: '5f0c2a54-7d1e-4b0a-9a86-5d0f2c7e9b11',
          cwd: CWD,
          title: undefined,
          at: '2026-03-01T12:00:00.000Z',
          handover: 'What came before.',
          turnsBefore: 0,
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
            handed.map(({ body, messageId = '' }) => ({ ...body, messageId })),
            read,
          ).problems,
        ).toEqual([])
      }),
      { numRuns: repeated(25, 6) },
    )
    expect(messages).toBeGreaterThan(repeated(50, 20))
  })
})

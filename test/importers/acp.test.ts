/** Sessions of the Agent Client Protocol, in the forms that opencode, Gemini CLI and claude-agent-acp send. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { RequestPermissionRequest, SessionUpdate } from '@agentclientprotocol/sdk'
import { acp } from '../../src/application/importers/acp.js'
import { plainContentId } from '../../src/application/importers/content-id.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { asLines, itemsFrom, linesOf, ofKind, violationsOf } from './reading.js'

type Side = 'client' | 'agent'

/** Writes a connection record by record. */
class Connection {
  readonly records: unknown[] = []
  private requests = 0
  private seconds = 0

  private add(from: Side, message: object): void {
    this.seconds += 1
    const at = new Date(Date.UTC(2026, 10, 30) + this.seconds * 1_000).toISOString()
    this.records.push({ at, from, message: { jsonrpc: '2.0', ...message } })
  }

  request(from: Side, method: string, params: object, result?: object): this {
    const id = this.requests
    this.requests += 1
    this.add(from, { id, method, params })
    if (result !== undefined) this.add(from === 'client' ? 'agent' : 'client', { id, result })
    return this
  }

  update(update: SessionUpdate, sessionId = 's1'): this {
    this.add('agent', { method: 'session/update', params: { sessionId, update } })
    return this
  }

  says(text: string, messageId?: string): this {
    return this.update({
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text },
      ...(messageId === undefined ? {} : { messageId }),
    })
  }

  /** A turn: the prompt, what the agent does, and the end. */
  turn(text: string, work: (connection: this) => unknown, result: object = { stopReason: 'end_turn' }): this {
    const id = this.requests
    this.requests += 1
    this.add('client', {
      id,
      method: 'session/prompt',
      params: { sessionId: 's1', prompt: [{ type: 'text', text }] },
    })
    work(this)
    this.add('agent', { id, result })
    return this
  }

  mark(fields: object): this {
    this.records.push({ at: '2026-11-30T10:00:00.000Z', ...fields })
    return this
  }
}

const newSession = (): Connection =>
  new Connection()
    .request('client', 'initialize', { protocolVersion: 1 }, { agentInfo: { name: 'quay', version: '2.0' } })
    .request('client', 'session/new', { cwd: '/home/somebody/harbour', mcpServers: [] }, { sessionId: 's1' })

const read = ({ records }: Connection): readonly TranscriptItem[] =>
  itemsFrom(acp.read('connection', plainContentId), asLines(records))

const violations = ({ records }: Connection): readonly string[] =>
  violationsOf(() => acp.read('connection', plainContentId), asLines(records))

/** The messages without their ids, which are hashes of their content. */
const messageLines = (items: readonly TranscriptItem[]): readonly string[] =>
  linesOf(items).map((line) => line.slice(line.indexOf(' ') + 1))

const calling = (id: string, rest: object = {}): SessionUpdate => ({
  sessionUpdate: 'tool_call',
  toolCallId: id,
  title: 'read',
  kind: 'read',
  status: 'pending',
  rawInput: {},
  ...rest,
})
const answering = (id: string, rest: object = {}): Extract<SessionUpdate, { sessionUpdate: 'tool_call_update' }> => ({
  sessionUpdate: 'tool_call_update',
  toolCallId: id,
  status: 'completed',
  ...rest,
})

describe('a turn', () => {
  const connection = newSession().turn('Read the notes.', (turn) =>
    turn
      .says('I ')
      .says('read.')
      .update(calling('c1'))
      .update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', rawInput: { filePath: 'notes.txt' } })
      .update(calling('c2', { title: 'ls', kind: 'execute', rawInput: { command: 'ls' } }))
      .update(answering('c1', { rawOutput: { output: 'The quay is 40 m long.' } }))
      .update(answering('c2', { rawOutput: { output: 'notes.txt', metadata: { exit: 0 } } }))
      .says('')
      .says('40 m.'),
  )

  it('is recorded as messages, with calls before their results', () => {
    expect(messageLines(read(connection))).toEqual([
      'user: Read the notes.',
      'assistant: I read.',
      'assistant: null +c1',
      'assistant: null +c2',
      'tool: The quay is 40 m long. =c1',
      'tool (exit 0): notes.txt =c2',
      'assistant: 40 m.',
    ])
    expect(violations(connection)).toEqual([])
  })

  it('has the conversation of the session, with its folder and the version of the agent', () => {
    expect(ofKind(read(connection), 'conversation')).toMatchObject([
      { sourceId: 's1', cwd: '/home/somebody/harbour', programVersion: 'quay 2.0' },
    ])
  })

  it('that is cut into other pieces gives the same messages', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 6 }), { minLength: 1, maxLength: 12 }), (pieces) => {
        const whole = newSession().turn('Go on.', (turn) => turn.says(pieces.join('')))
        const cut = newSession().turn('Go on.', (turn) => {
          for (const piece of pieces) turn.says(piece, 'm1')
        })
        expect(messageLines(read(cut))).toEqual(messageLines(read(whole)))
      }),
    )
  })

  it('that is the same as an earlier one is recorded again', () => {
    const twice = newSession()
    for (let times = 0; times < 2; times += 1) twice.turn('continue', (turn) => turn.says('Done.'))
    expect(messageLines(read(twice))).toEqual([
      'user: continue',
      'assistant: Done.',
      'user: continue',
      'assistant: Done.',
    ])
    expect(new Set(ofKind(read(twice), 'message').map(({ sourceId }) => sourceId)).size).toBe(4)
  })

  it('that is cancelled says so with the next message, and a call that never ended stays open', () => {
    const cancelled = newSession()
      .turn('Wait.', (turn) => turn.update(calling('c1')), { stopReason: 'cancelled' })
      .turn('Go on.', (turn) => turn.says('Yes.'))
    const [prompt, , next] = ofKind(read(cancelled), 'message')
    expect(messageLines(read(cancelled))).toEqual([
      'user: Wait.',
      'assistant: null +c1',
      'user: Go on.',
      'assistant: Yes.',
    ])
    expect(next?.abortedTurn).toEqual({ messageId: prompt?.sourceId, reason: 'cancelled' })
  })

  it('has the cost that the session had more after it than before', () => {
    const costs = (amount: number): SessionUpdate => ({
      sessionUpdate: 'usage_update',
      used: 1_000,
      size: 100_000,
      cost: { amount, currency: 'USD' },
    })
    const counted = newSession()
      .turn('One.', (turn) => turn.update(costs(0.5)).says('1'))
      .turn('Two.', (turn) => turn.update(costs(0.75)).says('2'))
      .turn('Three.', (turn) => turn.says('3'))
    expect(
      ofKind(read(counted), 'message')
        .filter(({ body }) => body.role === 'assistant')
        .map(({ usage }) => usage?.cost),
    ).toEqual([0.5, 0.25, undefined])
  })

  it('has its usage with its last message; the input includes cached tokens', () => {
    const usage = { inputTokens: 30, outputTokens: 10, cachedReadTokens: 8, cachedWriteTokens: 2, totalTokens: 50 }
    const counted = newSession().turn('Count.', (turn) => turn.says('One.'), { stopReason: 'end_turn', usage })
    expect(ofKind(read(counted), 'message').at(-1)?.usage).toEqual({
      inputTokens: 40,
      outputTokens: 10,
      cacheReadTokens: 8,
      cacheWriteTokens: 2,
    })
  })

  it('has thoughts, plans and attached files with their authors', () => {
    const attached = { type: 'resource', resource: { uri: 'file:///quay/notes.txt', text: 'Never trust the tide.' } }
    const planned = newSession().request(
      'client',
      'session/prompt',
      { sessionId: 's1', prompt: [{ type: 'text', text: 'Plan it.' }, attached] },
      undefined,
    )
    planned
      .update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'Hm.' } })
      .update({ sessionUpdate: 'plan', entries: [{ content: 'dredge', status: 'pending', priority: 'high' }] })
    const lines = messageLines(read(planned))
    expect(lines).toEqual([
      'user: Plan it.',
      'user (program): /quay/notes.txt\nNever trust the tide.',
      'assistant: [{"type":"thinking","thinking":"Hm."}]',
      expect.stringMatching(/^assistant: null \+/u),
      expect.stringMatching(/^tool: Plan updated =/u),
    ])
    expect(JSON.stringify(read(planned))).toContain(String.raw`\"plan\":[{\"step\":\"dredge\",\"status\":\"pending\"}]`)
  })
})

describe('tools', () => {
  it('that an agent shows without arguments have what the editor saw', () => {
    const edited = newSession().turn('Write it.', (turn) =>
      turn
        .update({
          ...answering('w1', { kind: 'edit', title: 'Writing to out.txt' }),
          content: [{ type: 'diff', path: '/quay/out.txt', oldText: 'a', newText: 'b' }],
        })
        .update(answering('x1', { kind: 'execute', title: 'ls -l' })),
    )
    const calls = ofKind(read(edited), 'message').flatMap(({ body }) => body.toolCalls ?? [])
    expect(calls.map((call) => call.function)).toEqual([
      { name: 'edit_file', arguments: '{"path":"/quay/out.txt","oldText":"a","newText":"b"}' },
      { name: 'execute_command', arguments: '{"command":"ls -l"}' },
    ])
  })

  it('in a terminal of the editor have its command, its output and its exit code', () => {
    const ran = newSession().turn('Run it.', (turn) =>
      turn
        .request('agent', 'terminal/create', { sessionId: 's1', command: 'make', args: ['all'] }, { terminalId: 't1' })
        .update(calling('c1', { kind: 'execute', title: 'make', rawInput: undefined }))
        .request(
          'agent',
          'terminal/output',
          { sessionId: 's1', terminalId: 't1' },
          { output: 'no rule', exitStatus: { exitCode: 2 } },
        )
        .update(answering('c1', { status: 'failed', content: [{ type: 'terminal', terminalId: 't1' }] })),
    )
    expect(messageLines(read(ran)).slice(1)).toEqual(['assistant: null +c1', 'tool (error) (exit 2): no rule =c1'])
    expect(JSON.stringify(read(ran))).toContain(String.raw`{\"command\":\"make all\"}`)
  })

  it('that the user declined are errors with the choice', () => {
    const request: RequestPermissionRequest = {
      sessionId: 's1',
      toolCall: { toolCallId: 'c1' },
      options: [
        { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
        { optionId: 'no', name: 'Reject', kind: 'reject_once' },
      ],
    }
    const declined = newSession().turn('Delete it.', (turn) =>
      turn
        .update(calling('c1'))
        .request('agent', 'session/request_permission', request, { outcome: { outcome: 'selected', optionId: 'no' } })
        .update(answering('c1', { status: 'failed' })),
    )
    expect(messageLines(read(declined)).at(-1)).toMatch(
      /^tool \(error\): The user doesn't want to proceed .*Reject.* =c1$/u,
    )
  })

  it('of which an agent uses an id again are two calls', () => {
    const repeated = newSession()
    for (let times = 0; times < 2; times += 1)
      repeated.turn('Look.', (turn) => turn.update(calling('c1')).update(answering('c1', { rawOutput: 'same' })))
    expect(messageLines(read(repeated)).filter((line) => line.startsWith('tool'))).toEqual([
      'tool: same =c1',
      'tool: same =c1',
    ])
    expect(violations(repeated)).toEqual([])
  })
})

describe('compactions', () => {
  const before = (): Connection => newSession().turn('Never touch plan.txt.', (turn) => turn.says('Noted.'))

  it('have the summary that the agent streams or replaces, and cover everything before the turn', () => {
    const compacted = before().turn('Go on.', (turn) =>
      turn
        .update({ sessionUpdate: 'compaction_update', compactionId: 'k1', status: 'in_progress' })
        .update({
          sessionUpdate: 'compaction_summary_chunk',
          compactionId: 'k1',
          content: { type: 'text', text: 'The user ' },
        })
        .update({
          sessionUpdate: 'compaction_summary_chunk',
          compactionId: 'k1',
          content: { type: 'text', text: 'has a rule.' },
        })
        .update({ sessionUpdate: 'compaction_update', compactionId: 'k1', status: 'completed' })
        .update({ sessionUpdate: 'compaction_update', compactionId: 'k1', status: 'completed' })
        .says('On.'),
    )
    const items = read(compacted)
    const [, , prompt] = ofKind(items, 'message')
    expect(ofKind(items, 'compaction')).toMatchObject([
      {
        trigger: 'auto',
        summary: { kind: 'text', text: 'The user has a rule.' },
        context: [{ kind: 'inserted', isSummary: true }],
        unknown: [prompt?.sourceId],
      },
    ])
    expect(violations(compacted)).toEqual([])
  })

  it.each(['failed', 'cancelled'])('that are %s are none', (status) => {
    const failed = before().turn('Go on.', (turn) =>
      turn.update({ sessionUpdate: 'compaction_update', compactionId: 'k1', status }),
    )
    expect(ofKind(read(failed), 'compaction')).toEqual([])
  })

  it('of which an agent says nothing show in a context that shrinks', () => {
    const shrunk = before()
      .update({ sessionUpdate: 'usage_update', used: 90_000, size: 100_000 })
      .turn('Go on.', (turn) => turn.update({ sessionUpdate: 'usage_update', used: 12_000, size: 100_000 }).says('On.'))
    expect(ofKind(read(shrunk), 'compaction')).toMatchObject([
      { trigger: 'auto', summary: { kind: 'opaque' }, tokensBefore: 90_000, tokensAfter: 12_000 },
    ])
  })

  it('that the user manual for by a command of the agent are manual, and counted once', () => {
    const manual = before()
      .update({ sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'compact', description: '' }] })
      .update({ sessionUpdate: 'usage_update', used: 90_000, size: 100_000 })
      .turn('/compact', (turn) => turn.says('Compacting completed.'))
      .update({ sessionUpdate: 'usage_update', used: 9_000, size: 100_000 })
      .turn('Go on.', (turn) => turn.says('On.'))
    expect(ofKind(read(manual), 'compaction')).toMatchObject([{ trigger: 'manual', summary: { kind: 'opaque' } }])
    // Without the command it is a text like any other.
    const text = before().turn('/compact', (turn) => turn.says('What?'))
    expect(ofKind(read(text), 'compaction')).toEqual([])
  })
})

describe('a session that is loaded again', () => {
  const first = newSession()
    .turn('One.', (turn) => turn.says('First.'))
    .turn('One.', (turn) => turn.says('Second.'))
  const ids = ofKind(read(first), 'message').map(({ sourceId }) => sourceId)
  const answer = {
    at: '2026-11-30T11:00:01.000Z',
    from: 'agent',
    message: { jsonrpc: '2.0', id: 'load', result: {} },
  }
  /** @param isLate the agent answers first, as Gemini CLI does */
  const replay = (connection: Connection, texts: readonly string[], isLate: boolean): Connection => {
    connection.records.push({
      at: '2026-11-30T11:00:00.000Z',
      from: 'client',
      message: {
        jsonrpc: '2.0',
        id: 'load',
        method: 'session/load',
        params: { sessionId: 's1', cwd: '/', mcpServers: [] },
      },
    })
    if (isLate) connection.records.push(answer)
    for (const [at, text] of texts.entries())
      connection.update({
        sessionUpdate: at % 2 === 0 ? 'user_message_chunk' : 'agent_message_chunk',
        content: { type: 'text', text },
      })
    if (!isLate) connection.records.push(answer)
    return connection
  }
  const linesAfterLoad = (texts: readonly string[], messageIds: readonly string[], isLate = false): readonly string[] =>
    messageLines(
      read(
        replay(new Connection().mark({ recorded: { sessionId: 's1', messageIds } }), texts, isLate).turn(
          'One.',
          (turn) => turn.says('Third.'),
        ),
      ),
    )

  it('adds nothing that is recorded, and new messages that are equal to old ones', () => {
    for (const isLate of [false, true])
      expect(linesAfterLoad(['One.', 'First.', 'One.', 'Second.'], ids, isLate)).toEqual([
        'user: One.',
        'assistant: Third.',
      ])
  })

  it('adds messages of another editor after the last recorded one', () => {
    expect(linesAfterLoad(['One.', 'First.', 'One.', 'Second.', 'Elsewhere?', 'Yes.'], ids)).toEqual([
      'user: Elsewhere?',
      'assistant: Yes.',
      'user: One.',
      'assistant: Third.',
    ])
  })

  it('leaves out what an agent shows in place of recorded messages', () => {
    expect(linesAfterLoad(['A summary of everything.', 'First.', 'One.', 'Second.'], ids)).toEqual([
      'user: One.',
      'assistant: Third.',
    ])
  })

  it('is recorded whole if nothing of it is recorded', () => {
    expect(linesAfterLoad(['One.', 'First.'], [])).toEqual([
      'user: One.',
      'assistant: First.',
      'user: One.',
      'assistant: Third.',
    ])
  })
})

it('a fork has its parent, and sessions at the same time stay apart', () => {
  const forked = newSession()
    .turn('One.', (turn) => turn.says('First.'))
    .request('client', 'session/fork', { sessionId: 's1', cwd: '/home/somebody/harbour' }, { sessionId: 's2' })
    .update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'of two' } }, 's2')
    .update({ sessionUpdate: 'session_info_update', title: 'The quay' }, 's1')
  const items = read(forked)
  expect(ofKind(items, 'conversation')).toMatchObject([
    { sourceId: 's1' },
    { sourceId: 's2', parent: { sourceId: 's1', how: 'fork' } },
    { sourceId: 's1', title: 'The quay' },
    { sourceId: 's2' },
  ])
  expect(violations(forked)).toEqual([])
})

it('odd records are left out by name', () => {
  const odd = newSession()
    .request('agent', 'session/future', { sessionId: 's1' }, {})
    .mark({
      from: 'agent',
      message: {
        jsonrpc: '2.0',
        method: 'session/update',
        params: { sessionId: 's1', update: { sessionUpdate: 'hologram' } },
      },
    })
    .mark({ from: 'nobody' })
    .mark({ from: 'agent', message: { jsonrpc: '2.0', method: 'session/update', params: null } })
    .mark({ closed: true })
  expect(ofKind(read(odd), 'left-out').map(({ what }) => what)).toEqual([
    'session/future',
    'hologram',
    'line',
    'session/update',
  ])
})

/** Sessions of five programs, as each writes them before and after a compaction that forgets a rule of the user. */

/** The rule that the compaction forgets. */
export const RULE = 'Never touch the production database of the harbour.'

/** A session before and after its compaction. */
export interface CompactedSession {
  readonly sessionId: string
  /** The name of its file. */
  readonly file: string
  readonly before: string
  readonly after: string
}

const REQUEST = `${RULE} Please look at crane 7.`
const ANSWER = 'Crane 7 has a loose bolt.'
const SUMMARY = 'The user asked about a crane.'

const lines = (values: readonly object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')

function claudeCode(sessionId: string, at: string): CompactedSession {
  const record = (uuid: string, parentUuid: string | null, more: object): object => ({
    parentUuid,
    isSidechain: false,
    userType: 'external',
    cwd: '/srv',
    sessionId,
    version: '2.1.50',
    uuid,
    timestamp: at,
    ...more,
  })
  const content = [{ type: 'text', text: ANSWER }]
  const before = [
    record('u1', null, { type: 'user', message: { role: 'user', content: REQUEST } }),
    record('a1', 'u1', {
      type: 'assistant',
      requestId: 'r1',
      message: { id: 'm1', role: 'assistant', model: 'claude-opus-4-5', content },
    }),
  ]
  const compaction = [
    record('boundary', null, {
      type: 'system',
      subtype: 'compact_boundary',
      content: 'Conversation compacted',
      logicalParentUuid: 'a1',
      compactMetadata: { trigger: 'auto', preTokens: 9_000 },
    }),
    record('summary', 'boundary', {
      type: 'user',
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true,
      message: { role: 'user', content: `This session is being continued. ${SUMMARY}` },
    }),
  ]
  return { sessionId, file: `${sessionId}.jsonl`, before: lines(before), after: lines([...before, ...compaction]) }
}

function codex(sessionId: string, at: string): CompactedSession {
  const record = (type: string, payload: object): object => ({ timestamp: at, type, payload })
  const item = (role: string, text: string): object => ({
    type: 'message',
    role,
    content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
  })
  const before = [
    record('session_meta', { id: sessionId, timestamp: at, cwd: '/srv', source: 'cli' }),
    record('response_item', item('user', REQUEST)),
    record('response_item', item('assistant', ANSWER)),
  ]
  const compaction = [record('compacted', { message: '', replacement_history: [item('user', SUMMARY)] })]
  return {
    sessionId,
    file: `rollout-2026-03-10T08-00-00-${sessionId}.jsonl`,
    before: lines(before),
    after: lines([...before, ...compaction]),
  }
}

function gemini(sessionId: string, at: string): CompactedSession {
  const user = (id: string, text: string): object => ({ id, timestamp: at, type: 'user', content: [{ text }] })
  const before = [
    { sessionId, projectHash: 'f00d', startTime: at, lastUpdated: at, kind: 'main' },
    user('u1', REQUEST),
    { id: 'g1', timestamp: at, type: 'gemini', content: ANSWER, thoughts: [], model: 'gemini-3-pro' },
  ]
  const compaction = [{ $set: { messages: [user('u2', SUMMARY)], lastUpdated: at } }]
  return {
    sessionId,
    file: `session-${sessionId}.jsonl`,
    before: lines(before),
    after: lines([...before, ...compaction]),
  }
}

function opencode(sessionId: string, at: string): CompactedSession {
  const created = Date.parse(at)
  const message = (id: string, role: string, parts: readonly object[], more: object = {}): object => ({
    info: { id, sessionID: sessionId, role, time: { created, completed: created }, ...more },
    parts,
  })
  const before = [
    message('m1', 'user', [{ type: 'text', text: REQUEST }]),
    message('m2', 'assistant', [{ type: 'text', text: ANSWER }], { modelID: 'some-model', finish: 'stop' }),
  ]
  const compaction = [
    message('m3', 'user', [{ type: 'compaction', auto: true }]),
    message('m4', 'assistant', [{ type: 'text', text: SUMMARY }], {
      modelID: 'some-model',
      finish: 'stop',
      parentID: 'm3',
      summary: true,
    }),
  ]
  const exported = (messages: readonly object[]): string =>
    JSON.stringify({ info: { id: sessionId, directory: '/srv', version: '1.18.0', time: { created } }, messages })
  return {
    sessionId,
    file: `${sessionId}.json`,
    before: exported(before),
    after: exported([...before, ...compaction]),
  }
}

function pi(sessionId: string, at: string): CompactedSession {
  const message = (id: string, parentId: string | null, role: string, text: string): object => ({
    type: 'message',
    id,
    parentId,
    timestamp: at,
    message: { role, content: [{ type: 'text', text }], timestamp: Date.parse(at) },
  })
  const before = [
    { type: 'session', version: 3, id: sessionId, timestamp: at, cwd: '/srv' },
    message('a', null, 'user', REQUEST),
    message('b', 'a', 'assistant', ANSWER),
  ]
  const compaction = [
    {
      type: 'compaction',
      id: 'k',
      parentId: 'b',
      timestamp: at,
      summary: SUMMARY,
      tokensBefore: 5_000,
      firstKeptEntryId: 'k',
    },
  ]
  return {
    sessionId,
    file: `2026-03-10T08-00-00-000Z_${sessionId}.jsonl`,
    before: lines(before),
    after: lines([...before, ...compaction]),
  }
}

/** Makes a session of each program, compacted at a time. */
export const COMPACTED_SESSIONS: Readonly<Record<string, (sessionId: string, at: string) => CompactedSession>> = {
  'claude-code': claudeCode,
  codex,
  gemini,
  opencode,
  pi,
}

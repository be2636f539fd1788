/** Ten ways in which a session file is damaged, in the forms of three programs. */

/** A record of a session, by its name. */
interface NamedRecord {
  readonly name: string
  readonly value: Readonly<Record<string, unknown>>
}

/** How a program writes what happens in a session. */
interface Form {
  readonly program: string
  readonly sessionId: string
  readonly file: string
  readonly head: readonly NamedRecord[]
  readonly user: (name: string, parent: string | null, text: string, more?: readonly object[]) => NamedRecord
  readonly answer: (name: string, parent: string, text: string, callId?: string) => NamedRecord
  readonly result: (name: string, parent: string, callId: string, text: string) => NamedRecord
  /** The records of a compaction that keeps the message `u1`, if the program can; without its summary if it is undefined. */
  readonly compaction: (parent: string, summary: string | undefined) => readonly NamedRecord[]
  /** The record that follows a compaction names this one. */
  readonly afterCompaction: (hasSummary: boolean) => string
  readonly emptyFile: object
  /** The record that names a parent, and the record with one that is not there. */
  readonly orphan: string
  readonly orphaned: (record: NamedRecord) => NamedRecord
}

const second = (name: string): string => {
  const order = ['head', 'u1', 'a1', 'r1', 'b1', 'k', 's', 'u2', 'a2', 'r2', 'r3', 'b2', 'u3']
  return `2026-03-10T08:00:${String(order.indexOf(name) + 10)}.000Z`
}
const uuidOf = (name: string): string => `00000000-0000-4000-8000-${Buffer.from(name.padEnd(6, '_')).toString('hex')}`

const CLAUDE_ID = '5c1f6d1e-3b0a-4a3c-9f6e-0d6c1b2a7e21'
const claudeRecord = (name: string, parent: string | null, more: object): NamedRecord => ({
  name,
  value: {
    parentUuid: parent === null ? null : uuidOf(parent),
    isSidechain: false,
    userType: 'external',
    cwd: '/srv/hold',
    sessionId: CLAUDE_ID,
    version: '2.1.197',
    uuid: uuidOf(name),
    timestamp: second(name),
    ...more,
  },
})
const claudeCode: Form = {
  program: 'claude-code',
  sessionId: CLAUDE_ID,
  file: `${CLAUDE_ID}.jsonl`,
  head: [],
  user: (name, parent, text, more = []) =>
    claudeRecord(name, parent, {
      type: 'user',
      message: { role: 'user', content: more.length === 0 ? text : [{ type: 'text', text }, ...more] },
    }),
  answer: (name, parent, text, callId) =>
    claudeRecord(name, parent, {
      type: 'assistant',
      requestId: `req_${name}`,
      message: {
        id: `msg_${name}`,
        role: 'assistant',
        model: 'claude-x',
        content: [
          { type: 'text', text },
          ...(callId === undefined ? [] : [{ type: 'tool_use', id: callId, name: 'Bash', input: { command: 'ls' } }]),
        ],
      },
    }),
  result: (name, parent, callId, text) =>
    claudeRecord(name, parent, {
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: callId, content: text }] },
    }),
  compaction: (parent, summary) => [
    claudeRecord('k', null, {
      type: 'system',
      subtype: 'compact_boundary',
      content: 'Conversation compacted',
      logicalParentUuid: uuidOf(parent),
      compactMetadata: { trigger: 'auto', preTokens: 9_000 },
    }),
    ...(summary === undefined
      ? []
      : [
          claudeRecord('s', 'k', {
            type: 'user',
            isCompactSummary: true,
            isVisibleInTranscriptOnly: true,
            message: { role: 'user', content: `This session is being continued. ${summary}` },
          }),
        ]),
  ],
  afterCompaction: (hasSummary) => (hasSummary ? 's' : 'k'),
  emptyFile: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } },
  orphan: 'u3',
  orphaned: ({ name, value }) => ({ name, value: { ...value, parentUuid: uuidOf('gone') } }),
}

const CODEX_ID = '5c1f6d1e-3b0a-4a3c-9f6e-0d6c1b2a7e22'
const codexRecord = (name: string, type: string, payload: object): NamedRecord => ({
  name,
  value: { timestamp: second(name), type, payload },
})
const codexMessage = (role: string, text: string, more: readonly object[] = []): object => ({
  type: 'message',
  role,
  content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }, ...more],
})
const CODEX_HEAD = {
  id: CODEX_ID,
  timestamp: second('head'),
  cwd: '/srv/hold',
  source: 'cli',
  cli_version: '0.171.0',
}
const codex: Form = {
  program: 'codex',
  sessionId: CODEX_ID,
  file: `rollout-2026-03-10T08-00-10-${CODEX_ID}.jsonl`,
  head: [codexRecord('head', 'session_meta', CODEX_HEAD)],
  user: (name, _parent, text, more) => codexRecord(name, 'response_item', codexMessage('user', text, more)),
  // Codex writes the text and the call of an answer in two records: the tests have no text with a call.
  answer: (name, _parent, text, callId) =>
    codexRecord(
      name,
      'response_item',
      callId === undefined
        ? codexMessage('assistant', text)
        : {
            type: 'function_call',
            name: 'exec_command',
            arguments: JSON.stringify({ cmd: 'ls' }),
            call_id: callId,
          },
    ),
  result: (name, _parent, callId, text) =>
    codexRecord(name, 'response_item', { type: 'function_call_output', call_id: callId, output: text }),
  compaction: (_parent, summary) => [
    codexRecord('k', 'compacted', {
      message: summary ?? '',
      replacement_history: [
        codexMessage('user', FIRST),
        ...(summary === undefined ? [] : [codexMessage('user', summary)]),
      ],
    }),
  ],
  afterCompaction: () => 'k',
  emptyFile: { type: 'input_image', image_url: 'data:image/png;base64,' },
  // Only the first record of a rollout names another one: the session that it was forked from.
  orphan: 'head',
  orphaned: ({ name }) =>
    codexRecord(name, 'session_meta', { ...CODEX_HEAD, forked_from_id: '5c1f6d1e-0000-4a3c-9f6e-0d6c1b2a7e22' }),
}

const PI_ID = '5c1f6d1e-3b0a-4a3c-9f6e-0d6c1b2a7e23'
const piRecord = (name: string, parent: string | null, message: Readonly<Record<string, unknown>>): NamedRecord => ({
  name,
  value: {
    type: 'message',
    id: name,
    parentId: parent,
    timestamp: second(name),
    message: { ...message, timestamp: Date.parse(second(name)) },
  },
})
const pi: Form = {
  program: 'pi',
  sessionId: PI_ID,
  file: `2026-03-10T08-00-10-000Z_${PI_ID}.jsonl`,
  head: [
    { name: 'head', value: { type: 'session', version: 3, id: PI_ID, timestamp: second('head'), cwd: '/srv/hold' } },
  ],
  user: (name, parent, text, more = []) =>
    piRecord(name, parent, { role: 'user', content: [{ type: 'text', text }, ...more] }),
  answer: (name, parent, text, callId) =>
    piRecord(name, parent, {
      role: 'assistant',
      content: [
        { type: 'text', text },
        ...(callId === undefined ? [] : [{ type: 'toolCall', id: callId, name: 'bash', arguments: { command: 'ls' } }]),
      ],
      model: 'model-x',
      stopReason: callId === undefined ? 'stop' : 'toolUse',
    }),
  result: (name, parent, callId, text) =>
    piRecord(name, parent, {
      role: 'toolResult',
      toolCallId: callId,
      toolName: 'bash',
      content: [{ type: 'text', text }],
      isError: false,
    }),
  compaction: (parent, summary) => [
    {
      name: 'k',
      value: {
        type: 'compaction',
        id: 'k',
        parentId: parent,
        timestamp: second('k'),
        ...(summary === undefined ? {} : { summary }),
        tokensBefore: 5_000,
        firstKeptEntryId: 'b1',
      },
    },
  ],
  afterCompaction: () => 'k',
  emptyFile: { type: 'image', data: '', mimeType: 'image/png' },
  orphan: 'u3',
  orphaned: ({ name, value }) => ({ name, value: { ...value, parentId: 'gone' } }),
}

/** The forms of the programs, by name. */
export const FORMS: Readonly<Record<string, Form>> = { 'claude-code': claudeCode, codex, pi }

const FIRST = 'What is in the hold?'
const SUMMARY = 'The hold has twelve barrels.'

interface Changes {
  readonly summary?: string | undefined
  readonly without?: readonly string[]
  readonly more?: readonly object[]
  readonly hasTwoResults?: boolean
}

/** The records of a session with two calls, a compaction between them, and a request at the end. */
function recordsOf(
  form: Form,
  { without = [], more = [], hasTwoResults = false, ...changes }: Changes = {},
): NamedRecord[] {
  const summary = 'summary' in changes ? changes.summary : SUMMARY
  const after = form.afterCompaction(summary !== undefined)
  const records = [
    ...form.head,
    form.user('u1', null, FIRST),
    form.answer('a1', 'u1', 'I look into the hold.', 'call_1'),
    form.result('r1', 'a1', 'call_1', 'twelve barrels'),
    form.answer('b1', 'r1', 'Twelve barrels.'),
    ...form.compaction('b1', summary),
    form.user('u2', after, 'What is on the quay?'),
    form.answer('a2', 'u2', 'I look at the quay.', 'call_2'),
    form.result('r2', without.includes('a2') ? 'u2' : 'a2', 'call_2', 'nine crates'),
    ...(hasTwoResults ? [form.result('r3', 'r2', 'call_2', 'ten crates')] : []),
    form.answer('b2', hasTwoResults ? 'r3' : 'r2', 'Nine crates.'),
    form.user('u3', 'b2', 'Load them.', more),
  ]
  return records.filter(({ name }) => !without.includes(name))
}

const lineOf = ({ value }: NamedRecord): string => `${JSON.stringify(value)}\n`
const linesOf = (records: readonly NamedRecord[]): string => records.map(lineOf).join('')

/** Lines with one more after a record. */
const withLine = (form: Form, after: string, line: (record: NamedRecord) => string): string =>
  recordsOf(form)
    .map((record) => lineOf(record) + (record.name === after ? line(record) : ''))
    .join('')

/** The damages by name: each makes the text of a damaged file. */
export const DAMAGES: Readonly<Record<string, (form: Form) => string>> = {
  'a last line that is cut': (form) => linesOf(recordsOf(form)).slice(0, -30),
  'an end in the middle of a call': (form) => linesOf(recordsOf(form, { without: ['r2', 'b2', 'u3'] })),
  'a result without its call': (form) => linesOf(recordsOf(form, { without: ['a2'] })),
  'two results of one call': (form) => linesOf(recordsOf(form, { hasTwoResults: true })),
  'a line that is no JSON': (form) => withLine(form, 'u2', () => '{"type":"message", oops\n'),
  'a line of NUL': (form) => withLine(form, 'u2', () => `${'\0'.repeat(64)}\n`),
  'a parent that is missing': (form) =>
    linesOf(recordsOf(form).map((record) => (record.name === form.orphan ? form.orphaned(record) : record))),
  'a compaction without its summary': (form) => linesOf(recordsOf(form, { summary: undefined })),
  'an empty file in a message': (form) => linesOf(recordsOf(form, { more: [form.emptyFile] })),
  'a record that is there twice': (form) => withLine(form, 'r2', lineOf),
}

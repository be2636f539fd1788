/** Sessions of five programs, as each writes them before and after compactions that forget a rule of the user. */

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

/** The rule in a turn of a session, from 1. The next compaction forgets it. */
export const ruleOf = (turn: number): string =>
  turn === 1 ? RULE : `Never move the crane with the number ${String(turn)} of the harbour.`

/** What happens in a session, and when: a turn, or the compaction of all before it. */
interface Step {
  readonly kind: 'turn' | 'compaction'
  readonly at: string
  /** The number of this turn or compaction, from 1. */
  readonly number: number
}

interface SessionForm {
  readonly fileOf: (sessionId: string) => string
  readonly textOf: (sessionId: string, steps: readonly Step[]) => string
}

const requestOf = (turn: number): string => `${ruleOf(turn)} Please look at crane 7.`
const ANSWER = 'Crane 7 has a loose bolt.'
const SUMMARY = 'The user asked about a crane.'

/** Ids of the first turn and compaction have no number. */
const idOf = (name: string, { number }: Pick<Step, 'number'>): string =>
  number === 1 ? name : `${name}-${String(number)}`

const lines = (values: readonly object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')

const claudeCode: SessionForm = {
  fileOf: (sessionId) => `${sessionId}.jsonl`,
  textOf(sessionId, steps) {
    const record = (at: string, uuid: string, parentUuid: string | null, more: object): object => ({
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
    const turn = (step: Step): readonly object[] => {
      const [user, answer] = [idOf('u1', step), idOf('a1', step)]
      const before = step.number === 1 ? null : idOf('summary', { number: step.number - 1 })
      const content = [{ type: 'text', text: ANSWER }]
      return [
        record(step.at, user, before, { type: 'user', message: { role: 'user', content: requestOf(step.number) } }),
        record(step.at, answer, user, {
          type: 'assistant',
          requestId: idOf('r1', step),
          message: { id: idOf('m1', step), role: 'assistant', model: 'claude-opus-4-5', content },
        }),
      ]
    }
    const compaction = (step: Step): readonly object[] => [
      record(step.at, idOf('boundary', step), null, {
        type: 'system',
        subtype: 'compact_boundary',
        content: 'Conversation compacted',
        logicalParentUuid: idOf('a1', step),
        compactMetadata: { trigger: 'auto', preTokens: 9_000 },
      }),
      record(step.at, idOf('summary', step), idOf('boundary', step), {
        type: 'user',
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
        message: { role: 'user', content: `This session is being continued. ${SUMMARY}` },
      }),
    ]
    return lines(steps.flatMap((step) => (step.kind === 'turn' ? turn(step) : compaction(step))))
  },
}

const codex: SessionForm = {
  fileOf: (sessionId) => `rollout-2026-03-10T08-00-00-${sessionId}.jsonl`,
  textOf(sessionId, steps) {
    const record = (at: string, type: string, payload: object): object => ({ timestamp: at, type, payload })
    const item = (role: string, text: string): object => ({
      type: 'message',
      role,
      content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
    })
    const at = steps[0]?.at ?? ''
    return lines([
      record(at, 'session_meta', { id: sessionId, timestamp: at, cwd: '/srv', source: 'cli' }),
      ...steps.flatMap((step) =>
        step.kind === 'turn'
          ? [
              record(step.at, 'response_item', item('user', requestOf(step.number))),
              record(step.at, 'response_item', item('assistant', ANSWER)),
            ]
          : [record(step.at, 'compacted', { message: '', replacement_history: [item('user', SUMMARY)] })],
      ),
    ])
  },
}

const gemini: SessionForm = {
  fileOf: (sessionId) => `session-${sessionId}.jsonl`,
  textOf(sessionId, steps) {
    const user = (id: string, at: string, text: string): object => ({
      id,
      timestamp: at,
      type: 'user',
      content: [{ text }],
    })
    const answer = (id: string, at: string): object => ({
      id,
      timestamp: at,
      type: 'gemini',
      content: ANSWER,
      thoughts: [],
      model: 'gemini-3-pro',
    })
    const at = steps[0]?.at ?? ''
    return lines([
      { sessionId, projectHash: 'f00d', startTime: at, lastUpdated: at, kind: 'main' },
      ...steps.flatMap((step) =>
        step.kind === 'turn'
          ? [user(idOf('u1', step), step.at, requestOf(step.number)), answer(idOf('g1', step), step.at)]
          : [{ $set: { messages: [user(idOf('u2', step), step.at, SUMMARY)], lastUpdated: step.at } }],
      ),
    ])
  },
}

const opencode: SessionForm = {
  fileOf: (sessionId) => `${sessionId}.json`,
  textOf(sessionId, steps) {
    const message = ({ at }: Step, id: string, role: string, parts: readonly object[], more: object = {}): object => ({
      info: { id, sessionID: sessionId, role, time: { created: Date.parse(at), completed: Date.parse(at) }, ...more },
      parts,
    })
    const turn = (step: Step): readonly object[] => [
      message(step, idOf('m1', step), 'user', [{ type: 'text', text: requestOf(step.number) }]),
      message(step, idOf('m2', step), 'assistant', [{ type: 'text', text: ANSWER }], {
        modelID: 'some-model',
        finish: 'stop',
      }),
    ]
    const compaction = (step: Step): readonly object[] => [
      message(step, idOf('m3', step), 'user', [{ type: 'compaction', auto: true }]),
      message(step, idOf('m4', step), 'assistant', [{ type: 'text', text: SUMMARY }], {
        modelID: 'some-model',
        finish: 'stop',
        parentID: idOf('m3', step),
        summary: true,
      }),
    ]
    return JSON.stringify({
      info: {
        id: sessionId,
        directory: '/srv',
        version: '1.18.0',
        time: { created: Date.parse(steps[0]?.at ?? '') },
      },
      messages: steps.flatMap((step) => (step.kind === 'turn' ? turn(step) : compaction(step))),
    })
  },
}

const pi: SessionForm = {
  fileOf: (sessionId) => `2026-03-10T08-00-00-000Z_${sessionId}.jsonl`,
  textOf(sessionId, steps) {
    const message = ({ at }: Step, id: string, parentId: string | null, role: string, text: string): object => ({
      type: 'message',
      id,
      parentId,
      timestamp: at,
      message: { role, content: [{ type: 'text', text }], timestamp: Date.parse(at) },
    })
    const turn = (step: Step): readonly object[] => {
      const before = step.number === 1 ? null : idOf('k', { number: step.number - 1 })
      return [
        message(step, idOf('a', step), before, 'user', requestOf(step.number)),
        message(step, idOf('b', step), idOf('a', step), 'assistant', ANSWER),
      ]
    }
    const compaction = (step: Step): object => ({
      type: 'compaction',
      id: idOf('k', step),
      parentId: idOf('b', step),
      timestamp: step.at,
      summary: SUMMARY,
      tokensBefore: 5_000,
      firstKeptEntryId: idOf('k', step),
    })
    return lines([
      { type: 'session', version: 3, id: sessionId, timestamp: steps[0]?.at ?? '', cwd: '/srv' },
      ...steps.flatMap((step) => (step.kind === 'turn' ? turn(step) : [compaction(step)])),
    ])
  },
}

const FORMS: Readonly<Record<string, SessionForm>> = { 'claude-code': claudeCode, codex, gemini, opencode, pi }

/** The file of a session, and its text after turns that each end with a compaction, at these times. The last one may lack it. */
export function sessionOf(
  program: string,
  sessionId: string,
  times: readonly { readonly turn: string; readonly compaction?: string }[],
): { readonly file: string; readonly text: string } {
  const form = FORMS[program]
  if (form === undefined) throw new Error(`no sessions of ${program}`)
  const steps = times.flatMap(({ turn, compaction }, at): readonly Step[] => [
    { kind: 'turn', at: turn, number: at + 1 },
    ...(compaction === undefined ? [] : [{ kind: 'compaction', at: compaction, number: at + 1 } as const]),
  ])
  return { file: form.fileOf(sessionId), text: form.textOf(sessionId, steps) }
}

/** Makes a session of each program, compacted at a time. */
export const COMPACTED_SESSIONS: Readonly<Record<string, (sessionId: string, at: string) => CompactedSession>> =
  Object.fromEntries(
    Object.keys(FORMS).map((program) => [
      program,
      (sessionId, at) => {
        const { file, text: before } = sessionOf(program, sessionId, [{ turn: at }])
        return { sessionId, file, before, after: sessionOf(program, sessionId, [{ turn: at, compaction: at }]).text }
      },
    ]),
  )

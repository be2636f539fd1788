/**
 * Every context of an imported conversation is valid for a chat API, whatever happened to the file: calls that were never
 * answered, answered late, answered twice or cut off, and results without their call. A placeholder replaces each
 * missing result, its call is in `openCalls`, and no recorded text is lost.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { either as E } from 'fp-ts'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Context } from '../../src/domain/compaction/context.js'
import type { Conversation } from '../../src/domain/conversation/conversation.js'
import { evolve } from '../../src/domain/conversation/evolve.js'
import { initialState } from '../../src/domain/conversation/conversation.js'
import { contextParts } from '../../src/domain/conversation/observed.js'
import { contentText } from '../../src/domain/values/message.js'
import { plainContentId } from '../../src/application/importers/content-id.js'
import { importers, readTranscript, recognizeTranscript } from '../../src/application/importers/index.js'
import { createRecordTranscript } from '../../src/application/importers/record-transcript.js'
import { toAnthropicContext } from '../../src/application/model-apis/contexts.js'
import { findEstimator } from '../../src/application/recording/estimators.js'
import { callingSessions } from '../support/calling-sessions.js'
import { damaged, damages, type Damage } from '../support/damaged-sessions.js'
import { contextIn, createHarness } from '../support/harness.js'
import { runsOf } from '../support/length.js'
import { hasSqlite, provideSqlite, writeSqlite } from '../support/sqlite-program.js'
import { strictChat } from '../support/strict-chat.js'
import { strictMessages } from '../support/strict-messages.js'
import { writtenTranscripts } from '../support/written/index.js'

/** The files of a conversation. The first one is imported. */
interface Files {
  readonly program: string
  readonly files: Readonly<Record<string, string>>
  readonly isDatabase?: true
}

const sessions: readonly Files[] = [
  ...callingSessions.map(({ program, path, content }) => ({ program, files: { [path]: content } })),
  ...writtenTranscripts.filter(({ isDatabase }) => isDatabase !== true || hasSqlite),
]

let folder: string
let writes = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imported-contexts-'))
  provideSqlite()
})
afterAll(async () => {
  jest.restoreAllMocks()
  await rm(folder, { recursive: true })
})

/** The states of the conversations in some files, after every event. */
async function statesOf({ program, files, isDatabase }: Files): Promise<readonly (readonly Conversation[])[]> {
  const root = join(folder, String((writes += 1)))
  for (const [name, content] of Object.entries(files)) {
    const target = join(root, name)
    await mkdir(dirname(target), { recursive: true })
    if (isDatabase === true) writeSqlite(target, content)
    else await writeFile(target, content)
  }
  const path = join(root, Object.keys(files)[0] ?? '')
  const found = await recognizeTranscript(path)
  const importer = found?.importer ?? importers.find((each) => each.program === program)
  if (importer === undefined) throw new Error(`there is no importer of ${program}`)
  const harness = createHarness()
  const record = createRecordTranscript({
    log: harness.log,
    conversations: harness.conversations,
    clock: { now: () => new Date(0), newId: () => 'id' },
    summarizerWindowTokens: 128_000,
  })
  const recorded = await record(readTranscript(path, importer, found?.layout ?? 'lines', plainContentId), {
    program,
    provenance: { actor: 'test', correlationId: 'r', causationId: 'r' },
  })
  await rm(root, { recursive: true })
  if (E.isLeft(recorded)) throw new Error(`${program}: ${JSON.stringify(recorded.left)}`)
  const all: Conversation[][] = []
  for (const { conversationId } of recorded.right.conversations) {
    let state = initialState(conversationId, findEstimator)
    const states = [state]
    for (const event of await harness.events(conversationId)) {
      state = evolve(state, event)
      states.push(state)
    }
    all.push(states)
  }
  return all
}

const PLACEHOLDER = '[no result of this call has been recorded so far]'

/** The faults of a context. */
function problemsOf(state: Conversation): readonly string[] {
  const context: Context = contextIn(state)
  const { messages, openCalls = [] } = context
  const placeholderIds = messages.flatMap(({ content, tool_call_id: id }) => (content === PLACEHOLDER ? [id] : []))
  const named = openCalls.map(({ callId }) => callId)
  const text = messages.map(({ content }) => contentText(content)).join('\n')
  const lost = contextParts(state).filter(({ body }) => !text.includes(contentText(body.content)))
  const anthropic = toAnthropicContext(messages)
  const aboutCalls = strictMessages({ ...anthropic }, new Map()).filter((problem) => /result|call|input/u.test(problem))
  return [
    ...(messages.length === 0 ? [] : strictChat({ messages })),
    ...aboutCalls.map((problem) => `Anthropic: ${problem}`),
    ...(JSON.stringify(placeholderIds) === JSON.stringify(named)
      ? []
      : [`shows placeholders for ${JSON.stringify(placeholderIds)}, and names ${JSON.stringify(named)}`]),
    ...lost.map(({ source }) => `lacks the text of ${source?.messageId ?? 'an inserted message'}`),
  ]
}

/** The problems of each state, with its revision. */
const problemsIn = async (files: Files): Promise<readonly string[]> =>
  (await statesOf(files)).flatMap((states) =>
    states.flatMap((state) => problemsOf(state).map((problem) => `at ${String(state.revision)}: ${problem}`)),
  )

const withDamage = (session: Files, all: readonly Damage[]): Files => {
  const [name = '', ...others] = Object.keys(session.files)
  const content = all.reduce(damaged, session.files[name] ?? '')
  return {
    ...session,
    files: Object.fromEntries([[name, content], ...others.map((each) => [each, session.files[each]])]),
  }
}

it('there is a session of every program', () => {
  const programs = new Set(sessions.map(({ program }) => program))
  expect(importers.map(({ program }) => program).filter((program) => !programs.has(program))).toEqual([])
})

describe.each(sessions.map((session) => [session.program, session] as const))(
  'a session of %s',
  (_program, session) => {
    it('has valid contexts at every revision', async () => {
      expect(await problemsIn(session)).toEqual([])
    })

    it('has valid contexts after damages', async () => {
      await fc.assert(
        fc.asyncProperty(damages, async (all) => {
          expect(await problemsIn(withDamage(session, all))).toEqual([])
        }),
        { numRuns: runsOf(session.isDatabase === true ? 30 : 100), endOnFailure: true },
      )
    })
  },
)

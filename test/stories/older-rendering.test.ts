/**
 * Conversations that older renderer versions recorded, with the hash of the context at each revision, most of them above
 * the hard limit and some directly after a prune. This version returns the same contexts, and uses its own rendering from
 * the next message on.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createMemoryEventStore } from '../../src/adapters/memory/event-store.js'
import { loadConversation } from '../../src/application/recording/load-conversation.js'
import { createVerify } from '../../src/application/audit/verify.js'
import { decode } from '../../src/domain/events/codec.js'
import { RENDERER_VERSION } from '../../src/domain/conversation/clip-archive.js'
import { evolve } from '../../src/domain/conversation/evolve.js'
import { initialState, type Conversation } from '../../src/domain/conversation/conversation.js'
import { givenState, stateAfter } from '../support/given-events.js'
import { checkScripted } from '../support/check-scripted.js'
import { talk } from '../support/conversations.js'
import { CONVERSATION, contextIn, createHarness, createTroubledStore } from '../support/harness.js'
import { jsonAs } from '../support/json.js'
import { noRows } from '../support/row-differences.js'
import { findEstimator } from '../../src/application/recording/estimators.js'

interface Run {
  readonly events: readonly {
    readonly id: string
    readonly type: string
    readonly data: string
    readonly metadata: string
  }[]
  readonly contexts: readonly string[]
}

const runs = ['renderer-1', 'renderer-2', 'renderer-3'].flatMap((name) =>
  jsonAs<readonly Run[]>(
    gunzipSync(readFileSync(join('test', 'fixtures', 'contexts', `${name}.json.gz`))).toString('utf8'),
  ),
)

function* statesOf({ events }: Run): Generator<Conversation> {
  let state = initialState('c1', findEstimator)
  for (const [at, stored] of events.entries()) {
    const event = decode({ ...stored, stream: 'conversation-c1', revision: at, position: at })
    if (E.isLeft(event)) throw new Error(event.left.detail)
    state = evolve(state, event.right)
    yield state
  }
}

it.each(runs.map((run, at) => [at, run] as const))('conversation %i has the recorded contexts', (_at, run) => {
  const hashes: string[] = []
  for (const state of statesOf(run)) hashes.push(contextIn(state).hash)
  expect(hashes).toEqual(run.contexts)
})

it('a conversation follows the current rendering and shape from its next message on, and no other setting changes', () => {
  const state = [...statesOf(runs[0] ?? { events: [], contexts: [] })].at(-1) ?? initialState('c1', findEstimator)
  const configure = { type: 'Configure', settings: undefined, scope: undefined, summarizerWindowTokens: 1 } as const
  const configured = givenState(state).when(configure).events
  expect(configured).toEqual([
    {
      type: 'ConversationConfigured',
      data: {
        ...state.configuration,
        policy: { ...state.configuration?.policy, shape: 'strict' },
        rendererVersion: RENDERER_VERSION,
      },
    },
  ])
  expect(givenState(stateAfter(configured, state)).when(configure).events).toEqual([])
})

it('verifies before and after it continues: earlier contexts do not change, and pinned messages stay word for word', async () => {
  let pins = 0
  for (const { events, contexts } of runs) {
    const store = createTroubledStore(createMemoryEventStore())
    expect(E.isRight(await store.append('conversation-c1', 'no_stream', events)())).toBe(true)
    const harness = createHarness({ store })
    // The file does not contain the prompt streams.
    const problems = async (): Promise<readonly unknown[]> =>
      (await createVerify({ log: harness.log, checkRequest: checkScripted, rowCheck: () => noRows })()).problems.filter(
        ({ rule }) => rule !== 'prompt',
      )
    expect(await problems()).toEqual([])
    await harness.appended(talk(60, 1_000))
    await harness.compact('due')
    expect(await problems()).toEqual([])
    const state = await harness.conversations.load(CONVERSATION)
    const context = contextIn(state)
    const pinned = [...state.retained, ...state.window].filter((message) => message.pinned)
    pins += pinned.length
    for (const message of pinned)
      expect(context.messages[context.messageIds.indexOf(message.messageId)]?.content).toEqual(message.content)
    expect(contextIn(await loadConversation(harness.log, CONVERSATION, contexts.length - 1)).hash).toBe(contexts.at(-1))
  }
  expect(pins).toBeGreaterThan(0)
})

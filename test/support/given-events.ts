/**
 * given(events).when(command).records(events) or .rejected(rejection): the decider in the words of its rules. Events
 * come from `builders.ts`; a configuration precedes them unless they contain one, or `nothing` is passed.
 */
import { expect } from '@jest/globals'
import { either as E } from 'fp-ts'
import { evolve } from '../../src/domain/conversation/evolve.js'
import { initialState, type Conversation } from '../../src/domain/conversation/conversation.js'
import { decide, type Command } from '../../src/domain/decide/index.js'
import type { Event } from '../../src/domain/events/index.js'
import { resolvePolicy } from '../../src/domain/values/policy.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { at, configured } from './builders.js'
import { findEstimator } from '../../src/application/recording/estimators.js'

const CONVERSATION_ID = 'c1'

/** A configuration by its settings, with the estimator that the program records. */
export function configuredWith(settings: PolicySettings, scope?: string): Event {
  const policy = resolvePolicy(settings)
  if (E.isLeft(policy)) throw new Error(policy.left.detail)
  return configured({
    policy: policy.right,
    settings,
    estimator: defaultEstimator.name,
    ...(scope === undefined ? {} : { scope }),
  })
}

/** A window of 1,000 tokens: the soft limit is 800, and what is pinned may take 250. */
export const small = configuredWith({ modelMaxTokens: 1_000, chunkSize: 3 })

/** The state after facts, a second apart. */
export function stateAfter(
  events: readonly Event[],
  from: Conversation = initialState(CONVERSATION_ID, findEstimator),
): Conversation {
  return events.reduce((state, event) => {
    const revision = state.revision + 1
    return evolve(state, {
      ...event,
      revision,
      metadata: { hash: revision.toString(16).padStart(64, '0'), recordedAt: at(revision) },
    })
  }, from)
}

interface Outcome {
  /** Exactly these events; `expect.objectContaining` may replace the data of one. */
  records(...events: readonly { readonly type: string; readonly data: unknown }[]): void
  /** A no, and nothing recorded. */
  rejected(rejection: unknown): void
  /** The facts, to look closer. */
  readonly events: readonly Event[]
}

interface Given {
  readonly state: Conversation
  when(command: Command): Outcome
}

function outcomeOf(state: Conversation, command: Command): Outcome {
  const decided = decide(state, command)
  return {
    records(...events) {
      expect(decided).toEqual(E.right(events))
    },
    rejected(rejection) {
      expect(decided).toEqual(E.left(rejection))
    },
    get events() {
      if (E.isLeft(decided)) throw new Error(`rejected: ${decided.left.kind}`)
      return decided.right
    },
  }
}

/** A conversation in a state that is there already. */
export const givenState = (state: Conversation): Given => ({ state, when: (command) => outcomeOf(state, command) })

/** A conversation that begins with these facts. */
export function givenEvents(...events: readonly Event[]): Given {
  return givenState(stateAfter(events[0]?.type === 'ConversationConfigured' ? events : [configuredWith({}), ...events]))
}

/** A conversation without any fact. */
export const nothing = (): Given => givenState(initialState(CONVERSATION_ID, findEstimator))

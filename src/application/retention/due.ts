/** Finds the conversations that are older than their rules allow. */
import { either as E } from 'fp-ts'
import { dateAfter, judgeDue } from '../../domain/retention/judge-erasure.js'
import { holdOn, rulesFor, type RetentionRules, type RetentionState } from '../../domain/retention/retention-state.js'
import type { EventData } from '../../domain/events/index.js'
import type { Conversations } from '../recording/handle-command.js'

/** A conversation as the list has it. */
export interface ListedConversation {
  readonly conversationId: string
  readonly scope: string | undefined
  readonly lastMessageAt: string | undefined
}

/** A conversation that is older than its rule allows. */
export type DueConversation = EventData<'RetentionRunStarted'>['due'][number]

/** The conversations of one scope, or those without a scope. */
export interface ScopeStatus {
  /** Absent for conversations without a scope. */
  readonly scope?: string
  /** The rules that apply: those of the scope, and for missing ones those of all conversations. */
  readonly rules: RetentionRules
  /** Number of conversations. */
  readonly conversations: number
  /** Conversations that a run would erase now. */
  readonly due: number
  /** Conversations that a hold keeps. */
  readonly onHold: number
  /** When the next conversation becomes due, ISO 8601; absent if there is none. */
  readonly nextDueAt?: string
}

export interface FoundDue {
  readonly due: readonly DueConversation[]
  readonly scopes: readonly ScopeStatus[]
}

interface Counts {
  conversations: number
  due: number
  onHold: number
  nextDueAt: string | undefined
}

/** Judges all conversations by the rows of the list. A run judges each one again by its events before it erases it. */
export async function findDue(
  state: RetentionState,
  listed: Iterable<ListedConversation>,
  now: Date,
  conversations: Pick<Conversations, 'load'>,
): Promise<FoundDue> {
  const counts = new Map<string | undefined, Counts>()
  const countsOf = (scope: string | undefined): Counts => {
    const found = counts.get(scope) ?? { conversations: 0, due: 0, onHold: 0, nextDueAt: undefined }
    counts.set(scope, found)
    return found
  }
  for (const scope of state.rules.keys()) countsOf(scope)
  const due: DueConversation[] = []
  for (const { conversationId, scope, lastMessageAt } of listed) {
    if (state.erased.has(conversationId)) continue
    const ofScope = countsOf(scope)
    const { eraseAfter } = rulesFor(state.rules, scope)
    const dueAt = dateAfter(lastMessageAt, eraseAfter)
    const judged = judgeDue(state, { conversationId, scope, lastMessageAt, youngestErased: lastMessageAt }, now)
    const isDue = E.isRight(judged) && eraseAfter !== undefined && lastMessageAt !== undefined
    // Conversations that `erase` has erased stay in the list.
    if (isDue && (await conversations.load(conversationId)).isErased) continue
    ofScope.conversations += 1
    if (isDue) {
      ofScope.due += 1
      due.push({ conversationId, lastMessageAt, eraseAfter })
    } else if (holdOn(state, conversationId, scope) !== undefined) ofScope.onHold += 1
    else if (dueAt !== undefined && (ofScope.nextDueAt === undefined || dueAt < ofScope.nextDueAt))
      ofScope.nextDueAt = dueAt
  }
  const scopes = [...counts].map(([scope, { nextDueAt, ...rest }]): ScopeStatus => ({
    ...(scope === undefined ? {} : { scope }),
    rules: rulesFor(state.rules, scope),
    ...rest,
    ...(nextDueAt === undefined ? {} : { nextDueAt }),
  }))
  return { due, scopes: scopes.toSorted((a, b) => ((a.scope ?? '') < (b.scope ?? '') ? -1 : 1)) }
}

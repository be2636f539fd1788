/**
 * Going back without losing anything: the state before a cycle or an adoption, with all messages and pins that came since, is put into force
 * by a fact of its own. What is undone stays in the log.
 */
import { either as E } from 'fp-ts'
import type { Provenance } from '../domain/codec.js'
import type { Conversation } from '../domain/conversation.js'
import type { Command } from '../domain/decide.js'
import { closingTypes, type ClosingType, type FactData, type RecordedFact } from '../domain/events.js'
import { conversationStream } from '../domain/ids.js'
import { decodeFact, isOfType } from './facts.js'
import type { CommandFailure, Conversations, Handled } from './handle-command.js'
import { loadConversation, seeUntil, type Log } from './load-conversation.js'

export interface PutBackDependencies {
  readonly log: Log
  readonly conversations: Conversations
}

/** A cycle that an edition took before it was adopted: it lies in the edition's stream, and goes with the edition alone. */
export type CycleOfEdition = { readonly kind: 'CycleOfEdition'; readonly cycle: number; readonly editionId: string }

export type PutBackFailure = CommandFailure | CycleOfEdition

/** How often a state is made anew because the conversation went on meanwhile. */
const ATTEMPTS = 20

async function closingAt(log: Log, conversationId: string, revision: bigint): Promise<RecordedFact<ClosingType>> {
  const [stored] = await log.store.readRevisions(conversationStream(conversationId), [revision])
  const fact = stored === undefined ? undefined : await decodeFact(stored, log.bodies)
  if (fact === undefined || !isOfType(fact, ...closingTypes)) throw new Error(`${conversationStream(conversationId)} revision ${revision.toString()} closes no books, though a later fact says so`)
  return fact
}

/** The fact that closed the books before this one, of those whose work is in force. */
async function before(log: Log, conversationId: string, fact: RecordedFact<ClosingType>): Promise<bigint | undefined> {
  if (isOfType(fact, 'CycleUndone')) {
    const oldest = fact.data.undone.at(-1)
    return oldest === undefined ? undefined : (await closingAt(log, conversationId, oldest.revision)).data.previous
  }
  if (isOfType(fact, 'EditionReverted')) return (await closingAt(log, conversationId, fact.data.adoptedAt)).data.previous
  return fact.data.previous
}

/** The cycles in force from the last one back to `cycle`, newest first, and the last revision before them. */
async function cyclesFrom(log: Log, state: Conversation, cycle: number): Promise<E.Either<PutBackFailure, { readonly undone: FactData<'CycleUndone'>['undone']; readonly at: bigint }>> {
  const { conversationId, cycles } = state
  const undone: FactData<'CycleUndone'>['undone'] = []
  let at = cycle >= 1 && cycle <= cycles ? state.lastClosing : undefined
  while (at !== undefined) {
    const fact = await closingAt(log, conversationId, at)
    if (isOfType(fact, 'MessagesPruned')) {
      undone.push({ cycle: fact.data.cycle, revision: fact.revision })
      // The batches of a cycle and its prune are one append: the state before it is the one before them all.
      if (fact.data.cycle === cycle) return E.right({ undone, at: fact.revision - BigInt(fact.data.pruned.length) - 1n })
    }
    if (isOfType(fact, 'EditionAdopted')) return E.left({ kind: 'CycleOfEdition', cycle, editionId: fact.data.editionId })
    at = await before(log, conversationId, fact)
  }
  return E.left({ kind: 'NoSuchCycle', cycle, cycles })
}

/** The state as it was at a revision, with the messages and pins that came since, and without what compaction did since. */
const rewound = async (log: Log, conversationId: string, at: bigint, until: bigint): Promise<Conversation> => seeUntil(log, await loadConversation(log, conversationId, at), until)

/** Makes a command of the state that is, and makes it anew where the conversation went on meanwhile. */
async function decideOnWhatIs(
  { conversations }: PutBackDependencies,
  conversationId: string,
  provenance: Provenance,
  commandFor: (state: Conversation) => Promise<E.Either<PutBackFailure, Command>>,
): Promise<E.Either<PutBackFailure, Handled>> {
  for (let tries = 1; ; tries += 1) {
    const command = await commandFor(await conversations.load(conversationId))
    if (E.isLeft(command)) return command
    const handled = await conversations.handle(conversationId, [command.right], provenance)
    if (E.isRight(handled) || handled.left.kind !== 'ConversationMoved' || tries === ATTEMPTS) return handled
  }
}

/** Puts the messages of the cycles from `cycle` to the last one back into the window; refused where the context would pass the hard limit. */
export function undoCycles(deps: PutBackDependencies, conversationId: string, cycle: number, provenance: Provenance): Promise<E.Either<PutBackFailure, Handled>> {
  return decideOnWhatIs(deps, conversationId, provenance, async (state) => {
    const found = await cyclesFrom(deps.log, state, cycle)
    if (E.isLeft(found)) return found
    const { undone, at } = found.right
    return E.right({ type: 'UndoCycles', undone, before: await rewound(deps.log, conversationId, at, state.revision) })
  })
}

/** Puts into force again what the edition in force had replaced. */
export function revertEdition(deps: PutBackDependencies, conversationId: string, provenance: Provenance): Promise<E.Either<PutBackFailure, Handled>> {
  return decideOnWhatIs(deps, conversationId, provenance, async (state) => {
    const edition = state.line?.edition
    if (edition === undefined) return E.left({ kind: 'NoEditionInForce' })
    return E.right({ type: 'RevertEdition', before: await rewound(deps.log, conversationId, edition.adoptedAt - 1n, state.revision) })
  })
}

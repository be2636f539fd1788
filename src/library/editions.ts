/** Editions and prompts as the library offers them: parsed, handed to the use cases, and thrown where these say no. */
import { either as E } from 'fp-ts'
import {
  editionById,
  editionIds,
  listEditions,
  type EditionOfConversation as EditionRow,
  type EditionSummary,
} from '../../projections/read-models/editions/queries.js'
import { adoptEdition, dropEdition, type AdoptDependencies } from '../editions/adopt.js'
import { estimateReplay, type ReplayEstimate } from '../editions/estimate.js'
import type { Handled } from '../recording/handle-command.js'
import {
  listPrompts,
  promptMeant,
  promptsBegunWith,
  type PromptRegistry,
  type RegisteredPrompt,
} from '../recording/list-prompts.js'
import { loadConversation } from '../recording/load-conversation.js'
import type { EditionSpending, Paid } from '../editions/metered.js'
import { revertEdition } from '../editions/undo-and-revert.js'
import { replay, type Replay, type ReplayProgress } from '../editions/replay.js'
import { conversationsOfLog } from '../audit/verify.js'
import type { Provenance } from '../domain/events/codec.js'
import { contextOf, type Context, type OverBudget, type Shortened } from '../domain/compaction/context.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { nearest } from '../domain/text/edit-distance.js'
import { conversationStream, editionStream } from '../domain/values/ids.js'
import type { PolicySettings } from '../domain/values/policy.js'
import { parsePrices, type Price, type TokenUsage } from '../domain/reports/prices.js'
import type { Conversations } from '../recording/handle-command.js'
import type { SpendingBound } from '../ports/spending.js'
import type { Sql } from '../ports/sql.js'
import { listenerGiven, looked, optionsGiven, settingsOf, type Names } from './options.js'
import { LedgerError, problem, valueOf } from './problem.js'

export type { ReplayedConversation } from '../editions/replay.js'
export type { EditionSpending, Paid, Price, PromptRegistry, RegisteredPrompt, Replay, ReplayEstimate, ReplayProgress }

/** An edition over all its conversations: what made it, how many of them are in which state, what it came to. */
export interface Edition extends EditionSummary {
  /** Tokens that were spent on it, failed and lost calls included. */
  readonly spent: TokenUsage
}

/** The edition of one conversation. */
export interface EditionOfConversation extends EditionRow {
  /** The conversation's last fact; the edition is whole where that is the last one that it has seen. */
  readonly conversationHead: bigint
}

/** An edition, conversation by conversation. */
export interface EditionInFull extends Edition {
  /** Where it stands in each of its conversations. */
  readonly conversations: readonly EditionOfConversation[]
}

/** Which conversations, under which settings. The summarizer and the persona are those of the ledger. */
export interface EditionRequest {
  /** Ids of conversations, or `all`. */
  readonly conversations: readonly string[] | 'all'
  /** Settings over those that each conversation has itself. */
  readonly policy?: PolicySettings
  /** What the model costs, for estimates and a bound in money. */
  readonly price?: Price
}

/** What may be spent on an edition in all, earlier runs included. */
export interface EditionBound {
  /** Tokens to and from the model. */
  readonly maxTokens?: number
  /** In the currency of `price`, which has to be given: all that the edition has taken is reckoned by it. */
  readonly maxCost?: number
}

/** What to replay, what it may spend, and how. */
export interface ReplayOptions extends EditionRequest, EditionBound {
  /** Conversations at once; default 4. */
  readonly concurrency?: number
  /** Ends it cleanly: calls under way may end and are recorded. */
  readonly signal?: AbortSignal
  /** Hears how far it is. What it throws breaks nothing. */
  readonly onProgress?: (progress: ReplayProgress) => void
}

/** What to estimate: a replay; or, with `editionId`, what adopting that edition would buy in these conversations. */
export interface EstimateOptions extends EditionRequest, Pick<ReplayOptions, 'signal'> {
  /**
   * The edition to adopt; the beginning of its id is enough. `all` is then every conversation that has it and did not
   * drop it.
   */
  readonly editionId?: string
}

/** The settings that the edition was made with, and what catching it up may spend. */
export interface AdoptOptions extends Pick<EditionRequest, 'policy' | 'price'>, EditionBound {
  /** Ends the catching up cleanly: calls under way may end and are recorded, and nothing is put into force. */
  readonly signal?: AbortSignal
}

/** What putting into force came to. */
export interface PutIntoForce {
  /** The conversation. */
  readonly conversationId: string
  /** The edition that was adopted or reverted. */
  readonly editionId: string
  /** False where it was so already. */
  readonly changed: boolean
  /** Revision of the conversation's last fact. */
  readonly revision: bigint
  /** Tokens of the context that was handed out before, and of the one that is now. */
  readonly tokensBefore: number
  /** Tokens of the context that is handed out now. */
  readonly tokensAfter: number
  /**
   * Where that one is at its limit or above it, and what it shows less of to fit the window: as `context` tells both.
   */
  readonly overBudget?: OverBudget
  /** What that context shows less of than the log has. */
  readonly shortened?: readonly Shortened[]
}

/** The same history compacted in another way, beside what is in force. */
export interface Editions {
  /**
   * What a replay would come to at most, or with `editionId` what adopting that edition would: calls, tokens, cost, and
   * summaries that would be taken
   * over. Records nothing and asks no model. Throws the signal's reason once that aborts: a part of the sum is no
   * estimate.
   */
  estimate(request: EstimateOptions): Promise<ReplayEstimate>
  /**
   * Compacts the same history again, into streams of an edition: with the ledger's summarizer and persona, under each
   * conversation's own policy
   * with `policy` over it. The same again takes it up where it ended, whatever ended it, and buys nothing twice.
   * Conversations stay as they
   * are until the edition is adopted. Failures of single conversations are in what it returns, and are not thrown.
   */
  replay(options: ReplayOptions): Promise<Replay>
  /** Every edition, the newest first. */
  list(): Promise<readonly Edition[]>
  /** One edition, conversation by conversation; the beginning of its id is enough. */
  show(editionId: string): Promise<EditionInFull>
  /**
   * Puts an edition into force in a conversation: its batches, window and configuration, by a fact. What was appended
   * since the replay is caught
   * up first, by the edition's own summarizer where something is to be bought: the ledger has to be opened with it, and
   * `policy` to be the same.
   */
  adopt(conversationId: string, editionId: string, options?: AdoptOptions): Promise<PutIntoForce>
  /**
   * Puts into force again what an adopted edition had replaced; all messages that came since stay. They may be too many
   * for one context: that is
   * no reason to refuse the way back, but is in `overBudget`, and the next append, or `compact`, compacts them.
   */
  revert(conversationId: string, editionId?: string): Promise<PutIntoForce>
  /**
   * Gives an edition of a conversation up: refused while it is in force. What it recorded stays, and a replay takes it
   * up again. One that another
   * edition has replaced comes back into force, dropped or not, where that one is reverted.
   */
  drop(
    conversationId: string,
    editionId: string,
  ): Promise<{ readonly conversationId: string; readonly editionId: string; readonly changed: boolean }>
}

/** The registry of what summaries were made with. */
export interface Prompts {
  /** Every template and persona that was used. One that cannot be read is named in `unreadable` and stops no other. */
  list(): Promise<PromptRegistry>
  /** The one that `NAME`, `NAME@VERSION` or the beginning of its hash names. */
  show(which: string): Promise<RegisteredPrompt>
}

export interface EditionsParts extends Omit<AdoptDependencies, 'conversations'> {
  /** Where the read models are. */
  readonly db: Sql
  /** Brings the read models to the head of the log. */
  readonly caughtUp: () => Promise<void>
  readonly conversations: Conversations
  /** Throws where the ledger is closed. */
  readonly open: () => void
  /** Throws where it is closed, or opened to read alone. */
  readonly writes: (call: string) => void
  /** A conversation that is there; throws where there is none. */
  readonly existing: (conversationId: string) => Promise<Conversation>
  readonly provenance: () => Provenance
  readonly onProblem: (problem: unknown) => void
  /** Hears of what was recorded in a conversation's own stream. */
  readonly onRecorded: (handled: Handled) => void
}

const bad = (field: string, detail: string): Error => problem({ kind: 'BadInput', field, detail })

/**
 * Ids of conversations, or all of them, as somebody gave them: what is neither would be taken apart letter by letter.
 */
export const conversationsGiven = (
  field: string,
  given: EditionRequest['conversations'] | undefined,
): EditionRequest['conversations'] => namedOrAll(field, given, 'ids', 'conversations')

/** Names of some things, or all of these. */
export function namedOrAll(
  field: string,
  given: readonly string[] | 'all' | undefined,
  names: string,
  things: string,
): readonly string[] | 'all' {
  if (given === 'all') return given
  if (given === undefined) throw bad(field, `is missing: a list of ${names}, or "all"`)
  if (!Array.isArray(given)) throw bad(field, `must be a list of ${names}, or "all"`)
  if (given.length === 0) throw bad(field, `is empty: name ${things}, or "all"`)
  // A list with holes passes them over, and a hole is no name.
  return Array.from(given, (id: unknown, at) => nameGiven(`${field}[${String(at)}]`, id))
}

/** A text that somebody gave: a name or the beginning of one. */
export function textGiven(field: string, given: unknown): string {
  if (typeof given !== 'string') throw bad(field, given === undefined ? 'is missing' : 'must be a text')
  if (given === '') throw bad(field, 'is empty')
  return given
}

/** A name that a database is asked for, which neither it nor UTF-8 refuses. */
export function nameGiven(field: string, given: unknown): string {
  const name = textGiven(field, given)
  if (name.includes('\0')) throw bad(field, 'has a NUL character')
  if (!name.isWellFormed()) throw bad(field, 'has a lone surrogate')
  return name
}

/** A signal that somebody gave with a call: what is none would be asked in the middle of the work. */
export function signalGiven(signal: unknown): void {
  if (signal !== undefined && !(typeof signal === 'object' && signal !== null && 'aborted' in signal))
    throw bad('signal', 'must be an AbortSignal')
}

const BOUND: Names<EditionBound> = { maxTokens: true, maxCost: true }
const REQUEST: Names<EditionRequest & Pick<ReplayOptions, 'signal'>> = {
  conversations: true,
  policy: true,
  price: true,
  signal: true,
}
const ESTIMATE: Names<EstimateOptions> = { ...REQUEST, editionId: true }
const REPLAY: Names<ReplayOptions> = { ...REQUEST, ...BOUND, concurrency: true, onProgress: true }
const ADOPT: Names<AdoptOptions> = { ...BOUND, policy: true, price: true, signal: true }

const priceGiven = (price: Price | undefined): Price | undefined =>
  price === undefined
    ? undefined
    : valueOf(
        looked('price', () => parsePrices({ price })),
        ({ field, detail }) => bad(field, detail),
      )['price']

const MICROS = 1_000_000

function boundOf({ maxTokens, maxCost }: EditionBound, price: Price | undefined): SpendingBound {
  if (maxTokens !== undefined && !(Number.isSafeInteger(maxTokens) && maxTokens > 0))
    throw bad('maxTokens', 'must be a whole number above 0')
  if (maxCost !== undefined && !(Number.isFinite(maxCost) && maxCost > 0))
    throw bad('maxCost', 'must be a number above 0')
  if (maxCost !== undefined && price === undefined) throw bad('maxCost', 'needs the price of the model')
  return {
    ...(maxTokens === undefined ? {} : { tokens: maxTokens }),
    ...(maxCost === undefined || price === undefined ? {} : { cost: { micros: Math.floor(maxCost * MICROS), price } }),
  }
}

/**
 * What is told of the context of a state; where its leading messages alone do not fit there is none, and its tokens are
 * told.
 */
function handedOut(state: Conversation): Pick<Context, 'tokens' | 'overBudget' | 'shortened'> {
  const context = contextOf(state)
  return E.isRight(context) ? context.right : { tokens: state.tokens }
}

/** Builds the two parts of the ledger that are about editions. */
export function createEditions(parts: EditionsParts): {
  readonly editions: Editions
  readonly prompts: Prompts
  readonly editionNamed: (given: string, field?: string) => Promise<string>
} {
  const { log, db, conversations, spending, open, writes, onProblem } = parts

  /** A conversation that is there; a misspelt id is told with the one that may have been meant. */
  async function known(conversationId: string): Promise<Conversation> {
    try {
      return await parts.existing(conversationId)
    } catch (error) {
      if (!(error instanceof LedgerError) || error.failure.kind !== 'NoSuchConversation') throw error
      const near = nearest(conversationId, await idsOf('all'))
      throw near === undefined ? error : problem({ kind: 'NoSuchConversation', conversationId, nearest: near })
    }
  }

  async function idsOf(given: EditionRequest['conversations'] | undefined): Promise<readonly string[]> {
    const asked = conversationsGiven('conversations', given)
    if (asked === 'all') {
      const all: string[] = []
      for await (const conversationId of conversationsOfLog(log)) all.push(conversationId)
      return all
    }
    for (const conversationId of asked) await known(conversationId)
    return asked
  }

  /** The whole id of an edition, from its beginning; a misspelt one is told with the one that may have been meant. */
  async function editionNamed(name: string, field = 'editionId'): Promise<string> {
    const given = nameGiven(field, name)
    await parts.caughtUp()
    const ids = await editionIds(db)
    const found = ids.filter((editionId) => editionId.startsWith(given))
    const [only] = found
    if (only !== undefined && found.length === 1) return only
    if (found.length > 1) throw bad(field, `"${given}" is the beginning of several: ${found.join(', ')}`)
    const near = nearest(given, ids)
    throw problem({ kind: 'NoSuchEdition', editionId: given, ...(near === undefined ? {} : { nearest: near }) })
  }

  /**
   * Without the read model, where the id is whole and of this conversation. One with a dash would reach into another
   * conversation's streams.
   */
  async function idNamed(name: string, conversationId: string): Promise<string> {
    const given = nameGiven('editionId', name)
    return !given.includes('-') && (await log.store.streamRevision(editionStream(given, conversationId))) >= 0n
      ? given
      : await editionNamed(given)
  }

  async function list(editionId?: string): Promise<readonly Edition[]> {
    await parts.caughtUp()
    const editions: Edition[] = []
    for (const edition of await listEditions(db, editionId))
      editions.push({ ...edition, spent: await spending.spentOn(edition.editionId) })
    return editions
  }

  async function show(given: string): Promise<EditionInFull> {
    const editionId = await editionNamed(given)
    const [edition] = await list(editionId)
    if (edition === undefined) throw problem({ kind: 'NoSuchEdition', editionId })
    const found: EditionOfConversation[] = []
    for (const row of await editionById(db, editionId))
      found.push({ ...row, conversationHead: await log.store.streamRevision(conversationStream(row.conversationId)) })
    return { ...edition, conversations: found }
  }

  /** The conversations that have an edition and did not drop it. */
  async function adoptable(editionId: string): Promise<readonly string[]> {
    return (await editionById(db, editionId))
      .filter(({ state }) => state !== 'dropped')
      .map(({ conversationId }) => conversationId)
  }

  async function putIntoForce(handled: Handled, editionId: string): Promise<PutIntoForce> {
    parts.onRecorded(handled)
    const { state } = handled
    const { conversationId, revision } = state
    const taken = handled.events.find((event) => event.type === 'EditionAdopted' || event.type === 'EditionReverted')
    // The fact counts all that is in force, and an agent never gets more than fits: what is told is what it got, and
    // what it gets.
    const { tokens, overBudget, shortened } = handedOut(state)
    const tokensBefore =
      taken === undefined ? tokens : handedOut(await loadConversation(log, conversationId, taken.revision - 1n)).tokens
    return {
      conversationId,
      editionId,
      changed: taken !== undefined,
      revision,
      tokensBefore,
      tokensAfter: tokens,
      ...(overBudget === undefined ? {} : { overBudget }),
      ...(shortened === undefined ? {} : { shortened }),
    }
  }

  return {
    editionNamed,
    editions: {
      async estimate(given) {
        open()
        const {
          conversations: asked,
          policy,
          signal,
          editionId: name,
          ...rest
        } = optionsGiven('editions.estimate', given, ESTIMATE)
        signalGiven(signal)
        const price = priceGiven(rest.price)
        const editionId = name === undefined ? undefined : await editionNamed(name)
        const conversationIds =
          editionId !== undefined && conversationsGiven('conversations', asked) === 'all'
            ? await adoptable(editionId)
            : await idsOf(asked)
        return await estimateReplay(parts, { conversationIds, settings: settingsOf(policy), price, signal, editionId })
      },
      async replay(given) {
        writes('editions.replay')
        const {
          conversations: asked,
          policy,
          concurrency,
          signal,
          onProgress,
          ...rest
        } = optionsGiven('editions.replay', given, REPLAY)
        signalGiven(signal)
        const heard = listenerGiven('onProgress', onProgress, onProblem)
        const price = priceGiven(rest.price)
        const bound = boundOf(rest, price)
        if (concurrency !== undefined && !(Number.isSafeInteger(concurrency) && concurrency > 0))
          throw bad('concurrency', 'must be a whole number above 0')
        return await replay(parts, {
          conversationIds: await idsOf(asked),
          settings: settingsOf(policy),
          bound,
          price,
          concurrency,
          signal,
          onProgress: heard,
        })
      },
      list: () => list(),
      show,
      async adopt(conversationId, given, options) {
        writes('editions.adopt')
        const { policy, signal, ...rest } = optionsGiven('editions.adopt', options, ADOPT)
        signalGiven(signal)
        const bound = boundOf(rest, priceGiven(rest.price))
        await known(conversationId)
        const editionId = await idNamed(given, conversationId)
        const request = {
          conversationId,
          editionId,
          settings: settingsOf(policy),
          bound,
          signal,
          provenance: parts.provenance(),
        }
        return await putIntoForce(valueOf(await adoptEdition(parts, request), problem), editionId)
      },
      async revert(conversationId, given) {
        writes('editions.revert')
        const { lineage } = await known(conversationId)
        const inForce = lineage?.edition?.editionId
        const wanted = given === undefined ? inForce : await idNamed(given, conversationId)
        if (wanted !== undefined && inForce !== wanted)
          throw problem({ kind: 'EditionNotInForce', editionId: wanted, conversationId, inForce })
        return await putIntoForce(
          valueOf(await revertEdition({ log, conversations }, conversationId, parts.provenance()), problem),
          wanted ?? '',
        )
      },
      async drop(conversationId, given) {
        writes('editions.drop')
        await known(conversationId)
        const editionId = await idNamed(given, conversationId)
        const { events } = valueOf(
          await dropEdition(parts, { conversationId, editionId, provenance: parts.provenance() }),
          problem,
        )
        return { conversationId, editionId, changed: events.length > 0 }
      },
    },
    prompts: {
      async list() {
        open()
        return await listPrompts(log)
      },
      async show(given) {
        open()
        const which = nameGiven('which', given)
        const { prompts, unreadable } = await listPrompts(log)
        const found = promptMeant(prompts, which)
        if (found !== undefined) return found
        const begun = promptsBegunWith(prompts, which)
        if (begun.length > 1)
          throw bad(
            'which',
            `"${which}" is the beginning of several hashes: ${begun.map(({ name, version, sha256 }) => `${sha256.slice(0, which.length + 4)} (${name}@${String(version)})`).join(', ')}`,
          )
        const [lost] = which.length >= 6 ? unreadable.filter(({ sha256 }) => sha256.startsWith(which)) : []
        if (lost !== undefined) throw problem({ kind: 'UnreadableLog', detail: lost.reason })
        const near = nearest(which, [
          ...new Set(prompts.map(({ name }) => name)),
          ...prompts.map(({ name, version }) => `${name}@${String(version)}`),
        ])
        throw problem({ kind: 'NoSuchPrompt', which, ...(near === undefined ? {} : { nearest: near }) })
      },
    },
  }
}

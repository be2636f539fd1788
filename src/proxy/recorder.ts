/**
 * Records what is asked and answered. A request is held against what is recorded of its conversation, one request of a
 * conversation after the other; what is new in it is recorded, and the answer behind it.
 */
import { LRUCache } from 'lru-cache'
import { recordable } from '../domain/text/json.js'
import type { PolicySettings } from '../domain/values/policy.js'
import { LedgerError } from '../library/problem.js'
import type { AppendOptions, Context, Ledger, MessageInput, Observation, SeenCompaction } from '../library/ledger.js'
import { createTurns } from '../ports/turns.js'
import { said, textIn, type Answer, type Api, type Asked, type Said, type Shown } from './api.js'
import type { Fields } from './json.js'
import {
  entriesBehind,
  entryOf,
  idBehind,
  isBegunAnew,
  isSummary,
  leftOut,
  newLine,
  rememberText,
  saltBehind,
  stepOf,
  summaryQuestion,
  toolsHash,
  type Entry,
  type Line,
  type Step,
} from './line.js'
import { createLines } from './lines.js'
import { reservesOf } from './reserves.js'
import { isToolless, whoseIs, type Whose } from './whose.js'

/** How a stream of an answer ended. */
export type Ending = 'whole' | 'interrupted' | 'cut'

/** What became of a request in the ledger. */
export interface Turn {
  readonly outcome: 'recorded' | 'side-call' | 'bypassed'
  readonly conversationId: string | undefined
  /** What goes upstream in the place of the client's list; undefined where that goes as it came. */
  readonly shown: readonly Shown[] | undefined
  /** Why the list goes as it came, where the ledger was to shorten it. */
  readonly cannotShorten: string | undefined
  /**
   * Records what came back, before anything that is asked later of the same conversation. Never throws: false where it
   * could not be recorded.
   */
  answered(coming: Promise<Answer | undefined>, ending: Ending, more?: Fields): Promise<boolean>
}

/** How the recorder is made. */
export interface RecorderOptions {
  readonly ledger: Ledger
  readonly mode: 'observe' | 'compact'
  /** Settings that the user fixed; they go over what is reckoned from the requests. */
  readonly policy?: PolicySettings | undefined
  readonly scope?: string | undefined
  /** Hears of what went wrong with the ledger. */
  readonly onProblem: (problem: unknown) => void
}

/** Conversations that begin alike are looked through, so many at most. */
const MOST_ALIKE = 16
/** Of the lines in memory so many are looked at for one that a list without a header goes on. */
const MOST_RECENT = 64
/** Upstream's ids that are kept, with what was recorded up to them. */
const MOST_RESPONSES = 50_000

/** A request that is not recorded. */
export const bypassed: Turn = {
  outcome: 'bypassed',
  conversationId: undefined,
  shown: undefined,
  cannotShorten: undefined,
  answered: () => Promise.resolve(false),
}

/** What upstream holds, up to an answer of its own. */
interface HeldAt {
  readonly key: string
  readonly conversationId: string
  readonly length: number
}

/** What a request was recorded as, for its answer. */
interface Placed {
  readonly line: Line
  readonly key: string
  readonly whose: Whose
  /** Messages of the list: the answer stands behind them. */
  readonly length: number
  /** The last of them, as it is recorded. */
  readonly last: Entry | undefined
  readonly context: Context | undefined
  /** It may ask for a summary of the program's own: what it asks stands in the line from here on. */
  readonly summary: { readonly from: number; readonly concluded: string | undefined } | undefined
}

/** Records requests and answers. */
export interface Recorder {
  /** Records what is new in a request, as asked by `actor`. It never throws: what goes wrong is `bypassed`, and `onProblem` hears of it. */
  ask(api: Api, asked: Asked, headers: Headers, actor?: string): Promise<Turn>
}

/** A summary as it is recorded: its text, or that only its provider reads it. */
function summaryOf(summary: Said | undefined): SeenCompaction['summary'] {
  const text = textIn(summary?.input.content)
  if (text !== '') return { kind: 'text', text }
  return summary === undefined ? { kind: 'none' } : { kind: 'opaque' }
}

/** A list that begins anew, with the ids of what stays, by their places in it. */
type Anew = Omit<Extract<Step, { kind: 'anew' }>, 'kept'> & { readonly kept: ReadonlyMap<number, string> }

/** The ids of what stays in a list that begins anew. */
const keptOf = (line: Line, { kept }: Extract<Step, { kind: 'anew' }>): Map<number, string> =>
  new Map(
    [...kept].flatMap(([at, place]) => {
      const id = line.entries[place]?.id
      return id === undefined ? [] : [[at, id] as const]
    }),
  )

/** What was asked for the summary, and answered, was no turn of the conversation. */
function summaryTurns(line: Line, { answerId }: Pick<Anew, 'answerId'>): string[] {
  const [question, answer] = line.entries.slice(-2)
  if (answer?.id === undefined || answer.id !== answerId || question?.role !== 'user') return []
  return [question.id, answer.id].filter((id) => id !== undefined)
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { ledger, mode, onProblem } = options
  const lines = createLines(ledger)
  const turns = createTurns()
  /** Where a list that began anew belongs, by how it begins. */
  const begunAnew = new LRUCache<string, { readonly key: string; readonly conversationId: string }>({ max: 10_000 })
  const responses = new LRUCache<string, HeldAt>({ max: MOST_RESPONSES })
  const actorOf = ({ actor }: Whose): Pick<AppendOptions, 'actor'> => (actor === undefined ? {} : { actor })
  const recordOptions = (whose: Whose): Pick<AppendOptions, 'scope' | 'actor'> => ({
    ...(options.scope === undefined ? {} : { scope: options.scope }),
    ...actorOf(whose),
  })

  /** A message that is only known again, and never recorded once more. */
  const asSaid = ({ hash, role, callId }: Entry): Said => ({
    input: {
      role: role === 'tool' ? 'tool' : 'user',
      content: '',
      ...(callId === undefined ? {} : { tool_call_id: callId }),
    },
    hash,
    raw: [],
  })

  /** The list with the end of the line that its program left out. */
  function withEnd(line: Line, asked: Asked): Asked {
    const at = leftOut(line, asked.messages)
    if (at === undefined) return asked
    return { ...asked, messages: asked.messages.toSpliced(at, 0, ...line.entries.slice(at).map(asSaid)) }
  }

  /** The list as if upstream held nothing of it. */
  function withHeld(line: Line, asked: Asked, heldAt: HeldAt | undefined): Asked {
    if (asked.held === undefined || asked.held.kind === 'reference') return asked
    const length = heldAt?.length ?? line.entries.length
    return {
      ...asked,
      instructions: line.maker === 'nobody' ? asked.instructions : line.instructions.map(asSaid),
      messages: [...line.entries.slice(0, length).map(asSaid), ...asked.messages],
    }
  }

  /** The conversation that a list without a header goes on; a new one where there is none. */
  async function lineFor(whose: Whose, asked: Asked): Promise<Line> {
    const anew = begunAnew.get(whose.begins)
    if (anew !== undefined) return await lines.get(anew.conversationId)
    for (let number = 1; number <= MOST_ALIKE; number += 1) {
      const id = number === 1 ? whose.begins : `${whose.begins}~${String(number)}`
      const line = await lines.get(id)
      if (line.maker === 'nobody') return line
      const step = stepOf(line, asked, false)
      if (step.kind === 'goes-on') return line
      const last = line.entries.at(-1)
      const isOpen = last?.role !== 'assistant' || line.entries.length === asked.messages.length
      if (step.kind === 'again' && (whose.isRetry || isOpen)) return line
    }
    return newLine(`${whose.begins}~${crypto.randomUUID()}`)
  }

  /** Notes where a list without a header belongs that began anew behind a compaction. */
  function findBegunAnew(whose: Whose, asked: Asked): void {
    if (begunAnew.has(whose.begins)) return
    let looked = 0
    for (const line of lines.recent()) {
      looked += 1
      if (looked > MOST_RECENT) return
      const { conversationId } = line
      const key = conversationId.replace(/~[^~]*$/u, '')
      if (key === whose.begins || line.entries.length === 0 || !conversationId.startsWith('proxy/')) continue
      if (isBegunAnew(line, asked)) {
        begunAnew.set(whose.begins, { key, conversationId })
        return
      }
    }
  }

  async function observe(line: Line, seen: Omit<Observation, 'program'>, whose: Whose): Promise<void> {
    const isNothing = Object.values(seen).every((part) => Array.isArray(part) && part.length === 0)
    if (isNothing) return
    const { program, programVersion } = whose
    await ledger.observe(
      line.conversationId,
      { program, ...(programVersion === undefined ? {} : { programVersion }), ...seen },
      recordOptions(whose),
    )
  }

  const attributesOf = (asked: Asked, isNew: boolean): Fields => ({
    ...(asked.model === undefined ? {} : { model: asked.model }),
    ...(isNew && asked.tools.length > 0 ? { tools: recordable(asked.tools) } : {}),
  })

  /** Messages with the ids of their entries; the last one says what it was asked with. */
  const withIds = (messages: readonly Said[], entries: readonly Entry[], last: Fields): MessageInput[] =>
    messages.map(({ input }, at) => ({
      ...input,
      id: entries[at]?.id,
      ...(at === messages.length - 1 && Object.keys(last).length > 0
        ? { attributes: { ...input.attributes, ...last } }
        : {}),
    }))

  /** Instructions that are others by now: what the model is given in the place of the recorded ones. */
  function changedInstructions(
    line: Line,
    asked: Asked,
  ): Pick<Observation, 'edited' | 'withdrawn'> & {
    readonly more: readonly Said[]
    readonly entries: readonly Entry[]
  } {
    const edited: NonNullable<Observation['edited']>[number][] = []
    const entries = asked.instructions.map((message, at): Entry => {
      const before = line.instructions[at]
      if (before === undefined) return entryOf(message, idBehind(line, `instruction ${String(at)}`, message.hash))
      if (before.hash !== message.hash && before.id !== undefined)
        edited.push({ messageId: before.id, content: message.input.content, why: 'replaced' })
      return { ...before, hash: message.hash }
    })
    const withdrawn = line.instructions
      .slice(asked.instructions.length)
      .flatMap(({ id }) => (id === undefined ? [] : [id]))
    return { edited, withdrawn, more: asked.instructions.slice(line.instructions.length), entries }
  }

  /** Records what is new in the list of a program that makes its own context. */
  async function recordSeen(
    line: Line,
    asked: Asked,
    step: Exclude<Step, { kind: 'side' }>,
    whose: Whose,
  ): Promise<void> {
    const changed = changedInstructions(line, asked)
    const leading = withIds(changed.more, changed.entries.slice(line.instructions.length), {})
    const last = attributesOf(asked, toolsHash(asked.tools) !== line.tools)
    const { messages } = asked
    const withdrawn = [...(changed.withdrawn ?? [])]
    const edited = [...(changed.edited ?? [])]
    let entries: Entry[]

    if (step.kind === 'anew') {
      withdrawn.push(...summaryTurns(line, step))
      const salt = saltBehind(line, 'anew')
      const kept = keptOf(line, step)
      const border = Math.max(step.summaryAt ?? -1, ...step.kept.keys())
      entries = messages.slice(0, border + 1).map((message, at) => entryOf(message, kept.get(at)))
      const next: Line = { ...line, salt }
      const tail = entriesBehind(next, entries.at(-1), messages.slice(border + 1))
      const summary = step.summaryAt === undefined ? undefined : messages[step.summaryAt]
      await observe(
        line,
        {
          withdrawn,
          edited,
          compaction: {
            sourceId: `${line.salt}-${String(line.entries.length)}-${messages[0]?.hash ?? ''}`,
            trigger: 'unknown',
            summary: summaryOf(summary),
            context: [
              ...line.instructions
                .slice(0, asked.instructions.length)
                .flatMap(({ id }) => (id === undefined ? [] : [{ messageId: id }])),
              ...entries.map(({ id }, at) =>
                id === undefined
                  ? {
                      inserted: messages[at]?.input ?? { role: 'user' as const, content: '' },
                      ...(at === step.summaryAt ? { isSummary: true as const } : {}),
                    }
                  : { messageId: id },
              ),
            ],
          },
          messages: [...leading, ...withIds(messages.slice(border + 1), tail, last)],
        },
        whose,
      )
      line.salt = salt
      line.entries = [...entries, ...tail]
    } else {
      const from = step.kind === 'again' ? messages.length : step.from
      if (step.kind === 'rewinds') {
        withdrawn.push(...line.entries.slice(from).flatMap(({ id }) => (id === undefined ? [] : [id])))
        line.salt = saltBehind(line, 'again')
      }
      if (step.kind === 'goes-on')
        for (const at of step.edits) {
          const id = line.entries[at]?.id
          if (id !== undefined) edited.push({ messageId: id, content: messages[at]?.input.content, why: 'replaced' })
        }
      const before = line.entries[from - 1]
      const fresh = entriesBehind(line, before, messages.slice(from))
      await observe(
        line,
        { withdrawn, edited, messages: [...leading, ...withIds(messages.slice(from), fresh, last)] },
        whose,
      )
      if (step.kind !== 'again')
        line.entries = [
          ...line.entries.slice(0, from).map((entry, at) => ({ ...entry, hash: messages[at]?.hash ?? entry.hash })),
          ...fresh,
        ]
    }
    line.maker = 'program'
    line.instructions = changed.entries
  }

  /** The messages that a conversation says, as they were recorded, by their ids. */
  async function recordedInputs(conversationId: string): Promise<Map<string, MessageInput>> {
    const inputs = new Map<string, MessageInput>()
    for await (const event of ledger.log(conversationId)) {
      if (event.type === 'MessagesWithdrawn') for (const { messageId } of event.data.messages) inputs.delete(messageId)
      if (event.type !== 'MessageAppended') continue
      const { messageId, role, content, name, toolCalls, toolCallId, extra } = event.data
      inputs.set(messageId, {
        ...extra,
        id: messageId,
        role,
        content,
        ...(name === undefined ? {} : { name }),
        ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
        ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
      })
    }
    return inputs
  }

  /** Appends with what the request takes of the window kept free. */
  async function appendReserved(
    conversationId: string,
    messages: readonly MessageInput[],
    asked: Asked,
    whose: Whose,
  ): Promise<void> {
    const append = async (policy: PolicySettings | undefined): Promise<unknown> =>
      await ledger.append(conversationId, messages, {
        ...recordOptions(whose),
        ...(policy === undefined ? {} : { policy }),
      })
    try {
      await append(reservesOf(asked, options.policy))
    } catch (error) {
      // The tools alone fill the window, or the ledger has a smaller one than the proxy knows of: what is reckoned
      // keeps nothing from being recorded.
      if (!(error instanceof LedgerError && error.failure.kind === 'BadPolicy')) throw error
      await append(options.policy)
    }
  }

  /** Records what is new in a list whose context the ledger makes. */
  async function recordOwn(
    line: Line,
    asked: Asked,
    step: Exclude<Step, { kind: 'side' }>,
    whose: Whose,
  ): Promise<Line> {
    const { messages, instructions } = asked
    const isSameStart =
      line.maker === 'nobody' ||
      (line.instructions.length === instructions.length &&
        instructions.every((message, at) => line.instructions[at]?.hash === message.hash))
    const last = attributesOf(asked, toolsHash(asked.tools) !== line.tools)
    if (step.kind === 'goes-on' && step.edits.length === 0 && isSameStart) {
      const leading = line.maker === 'nobody' ? instructions : []
      const leads = leading.map((message, at) =>
        entryOf(message, idBehind(line, `instruction ${String(at)}`, message.hash)),
      )
      const fresh = entriesBehind(line, line.entries.at(-1), messages.slice(step.from))
      const given = [...withIds(leading, leads, {}), ...withIds(messages.slice(step.from), fresh, last)]
      if (given.length > 0) await appendReserved(line.conversationId, given, asked, whose)
      if (line.maker === 'nobody') line.instructions = leads
      line.maker = 'ledger'
      line.entries.push(...fresh)
      return line
    }
    if (step.kind !== 'anew') {
      const from = step.kind === 'again' ? messages.length : step.from
      return await recordEdits(line, instructions, messages, from, whose)
    }
    const unchanged = line.entries.map(asSaid)
    const start = isSameStart ? line : await recordEdits(line, instructions, unchanged, unchanged.length, whose)
    return await recordOwnCompaction(start, asked, { ...step, kept: keptOf(line, step) }, last, whose)
  }

  /**
   * The list was edited or shortened: what is recorded is made to say what it says.
   * @param from the place in the list from which nothing stands as it is recorded
   */
  async function recordEdits(
    line: Line,
    instructions: readonly Said[],
    messages: readonly Said[],
    from: number,
    whose: Whose,
  ): Promise<Line> {
    line.salt = saltBehind(line, 'again')
    const isSame = (at: number): boolean => line.entries[at]?.hash === messages[at]?.hash
    let before: Entry | undefined
    const entries = messages.map((message, at) => {
      const known = at < from && isSame(at) ? line.entries[at] : undefined
      before = known ?? entryOf(message, idBehind(line, before?.id, message.hash))
      return before
    })
    const leads = instructions.map((message, at) => {
      const known = line.instructions[at]
      return entryOf(
        message,
        known?.hash === message.hash ? known.id : idBehind(line, `instruction ${String(at)}`, message.hash),
      )
    })
    // What is recorded stands as it is: a client may write the same message otherwise by now, or leave it to upstream.
    const recorded = await recordedInputs(line.conversationId)
    const leading = new Set(line.instructions.map(({ id }) => id))
    const places = new Map(line.entries.map(({ id }, at) => [id, at]))
    const inputs = withIds(messages, entries, {})
    const stays = [...recorded].flatMap(([id, input]) => {
      if (leading.has(id)) return []
      const at = places.get(id)
      // What left the client's list by its own compaction is said as before.
      if (at === undefined) return [input]
      return at < from ? [isSame(at) ? input : (inputs[at] ?? input)] : []
    })
    const done = await ledger.compress(
      [
        ...withIds(instructions, leads, {}).map((input) => recorded.get(input.id ?? '') ?? input),
        ...stays,
        ...inputs.slice(Math.min(from, line.entries.length)),
      ],
      line.conversationId,
      actorOf(whose),
    )
    lines.forget(line.conversationId)
    if (done.error !== undefined) onProblem(done.error)
    const read = await lines.get(line.conversationId)
    read.tools = line.tools
    read.texts.push(...line.texts)
    return read
  }

  /**
   * The agent compacted by itself. That is recorded as the compaction it is, and what its list has that is new behind
   * it. The ledger makes the context: what left the agent's list stays in it, until a cycle of the ledger's folds it.
   */
  async function recordOwnCompaction(line: Line, asked: Asked, step: Anew, last: Fields, whose: Whose): Promise<Line> {
    const { program, programVersion } = whose
    const { messages } = asked
    const { kept, summaryAt } = step
    const next: Line = { ...line, salt: saltBehind(line, 'anew') }
    let before: Entry | undefined
    const entries = messages.map((message, at) => {
      const id = kept.get(at) ?? idBehind(next, before?.id, message.hash)
      before = entryOf(message, id)
      return before
    })
    const fresh = messages.flatMap((_message, at) => (kept.has(at) ? [] : [at]))
    const append = withIds(
      fresh.flatMap((at) => messages[at] ?? []),
      fresh.flatMap((at) => entries[at] ?? []),
      last,
    )
    const summary = summaryAt === undefined ? undefined : messages[summaryAt]
    const border = Math.max(summaryAt ?? -1, ...kept.keys())
    await ledger.amend(line.conversationId, {
      ...actorOf(whose),
      withdraw: summaryTurns(line, step),
      append,
      compaction: {
        program,
        ...(programVersion === undefined ? {} : { programVersion }),
        sourceId: `${line.salt}-${String(line.entries.length)}-${messages[0]?.hash ?? ''}`,
        summary: summaryOf(summary),
        context: [
          ...line.instructions.flatMap(({ id }) => (id === undefined ? [] : [{ messageId: id }])),
          ...messages.slice(0, border + 1).map(({ input }, at) => {
            const id = kept.get(at)
            if (id !== undefined) return { messageId: id }
            return { inserted: input, ...(at === summaryAt ? { isSummary: true as const } : {}) }
          }),
        ],
      },
    })
    line.salt = next.salt
    line.entries = entries
    return line
  }

  /** The context of the ledger, each message with what the client sent for it; undefined where they do not agree. */
  async function contextFor(
    line: Line,
    asked: Asked,
  ): Promise<{ readonly context: Context; readonly shown: Shown[] } | string> {
    const context = await ledger.context(line.conversationId)
    if (context.observed !== undefined) return 'the conversation was begun by observing it'
    const wanted = new Set(context.messageIds)
    const byId = new Map<string, Said>()
    for (const [messages, entries] of [
      [asked.instructions, line.instructions],
      [asked.messages, line.entries],
    ] as const)
      for (const [at, message] of messages.entries()) {
        const entry = entries[at]
        if (entry === undefined || entry.hash !== message.hash) return 'the list is not the one that is recorded'
        // What its program left out of the list goes upstream as the ledger has it.
        const isSent = messages === asked.instructions || message.raw.length > 0
        if (isSent && entry.id !== undefined && wanted.has(entry.id)) byId.set(entry.id, message)
      }
    const shortened = new Set(context.shortened?.map(({ id }) => id))
    const shown = context.messages.map((chat, at): Shown => {
      const id = context.messageIds[at]
      const message = id === undefined ? undefined : byId.get(id)
      const isWhole = id !== undefined && !shortened.has(id) && message?.input.role === chat.role
      return { chat, said: message, isWhole }
    })
    return { context, shown }
  }

  /** An errand's list as it goes upstream: the ledger's context in the place of the conversation, and the question. */
  async function errandFor(line: Line, asked: Asked, isErrand: boolean): Promise<Shown[] | undefined> {
    const question = asked.messages.at(-1)
    if (!isErrand || mode === 'observe' || line.maker !== 'ledger' || question === undefined) return undefined
    const before = { ...asked, messages: asked.messages.slice(0, -1) }
    if (asked.held !== undefined || line.entries.length !== before.messages.length) return undefined
    const made = await contextFor(line, before)
    if (typeof made === 'string') return undefined
    return [...made.shown, { chat: { role: 'user', content: '' }, said: question, isWhole: true }]
  }

  function remember(line: Line, asked: Asked): void {
    const offered = toolsHash(asked.tools)
    if (offered !== '') line.tools = offered
    lines.keep(line)
  }

  const rememberAnswer = (line: Line, answer: Answer, id?: string): void => {
    rememberText(line, textIn(answer.message?.content), id)
  }

  /** The message of an answer as it is recorded. */
  function answerInput(
    answer: Answer,
    ending: Ending,
    context: Context | undefined,
    more: Fields,
  ): MessageInput | undefined {
    const { message, isComplete, responseId, model, usage, finish } = answer
    if (message === undefined) return undefined
    // A client may leave as soon as it has read the end.
    const state = isComplete ? {} : ending === 'interrupted' ? { interrupted: true } : { incomplete: true }
    const attributes = {
      ...(model === undefined ? {} : { model }),
      ...(responseId === undefined ? {} : { answerId: responseId }),
      ...(usage === undefined ? {} : { usage }),
      ...(finish === undefined ? {} : { finish }),
      ...state,
      ...more,
    }
    const { tool_calls: calls, ...rest } = message
    return {
      ...message,
      // Calls that may be half of one are no calls.
      ...(!isComplete
        ? {
            ...rest,
            tool_calls: undefined,
            content: message.content ?? '',
            ...(calls === undefined ? {} : { unfinished_calls: calls }),
          }
        : {}),
      attributes,
      ...(context === undefined ? {} : { answers: { revision: String(context.revision), hash: context.hash } }),
    }
  }

  /** Records an answer behind its request; what was answered before in its place is said no more. */
  async function recordAnswer(placed: Placed, answer: Answer, ending: Ending, more: Fields): Promise<void> {
    const { length, last, whose, context } = placed
    const line = await lines.get(placed.line.conversationId)
    const input = answerInput(answer, ending, context, more)
    if (input === undefined || line.entries.length < length) {
      rememberAnswer(line, answer)
      return
    }
    const message = said(input, [])
    const behind = line.entries.slice(length)
    const asked = line.entries[length - 1]
    const isAsked = last?.id === undefined ? asked?.hash === last?.hash : asked?.id === last.id
    const isSame = isAsked && behind[0]?.hash === message.hash
    // The conversation went on meanwhile, and not from this answer; or its question was taken back.
    const isLate =
      !isAsked || behind.some(({ role }) => role !== 'assistant') || (behind.length > 0 && line.maker !== 'program')
    if (isSame || isLate) {
      rememberAnswer(line, answer, isSame ? behind[0]?.id : undefined)
      return
    }
    if (behind.length > 0) line.salt = saltBehind(line, 'again')
    const before = line.entries[length - 1]
    const entry = entryOf(message, idBehind(line, before?.id ?? before?.hash, message.hash))
    rememberAnswer(line, answer, entry.id)
    const withdrawn = behind.flatMap(({ id }) => (id === undefined ? [] : [id]))
    if (line.maker === 'program') await observe(line, { withdrawn, messages: [{ ...input, id: entry.id }] }, whose)
    else await ledger.append(line.conversationId, { ...input, id: entry.id }, recordOptions(whose))
    line.entries = [...line.entries.slice(0, length), entry]
    line.concluded = answer.isComplete && (input.tool_calls ?? []).length === 0 ? entry.id : undefined
    if (placed.summary !== undefined && line.concluded !== undefined && isSummary(input.content))
      await putAside(line, placed.summary, whose)
    lines.keep(line)
    if (answer.responseId !== undefined)
      responses.set(answer.responseId, {
        key: placed.key,
        conversationId: line.conversationId,
        length: line.entries.length,
      })
  }

  /**
   * A program's question for its summary, and the answer to it, are said no more: they are no turns. The log keeps both,
   * so that the summary is known again, and so that nothing is lost where they were turns all the same: then the next
   * list has them, and they are said again.
   */
  async function putAside(
    line: Line,
    { from, concluded }: NonNullable<Placed['summary']>,
    whose: Whose,
  ): Promise<void> {
    const withdrawn = line.entries.slice(from).flatMap(({ id }) => (id === undefined ? [] : [id]))
    if (line.maker === 'program') await observe(line, { withdrawn }, whose)
    else await ledger.amend(line.conversationId, { ...actorOf(whose), withdraw: withdrawn })
    line.salt = saltBehind(line, 'again')
    line.entries = line.entries.slice(0, from)
    line.concluded = concluded
  }

  /** Records what an errand's list has that is new, such as a result, up to the question of the errand. */
  async function recordBefore(line: Line, asked: Asked, whose: Whose): Promise<Line> {
    const before: Asked = { ...asked, instructions: [], messages: asked.messages.slice(0, -1), tools: [] }
    const step = stepOf(line, before, whose.isProgram)
    if (line.maker === 'nobody' || step.kind !== 'goes-on' || step.from === before.messages.length) return line
    const own = { ...before, instructions: line.instructions.map(asSaid) }
    if (line.maker === 'ledger') return await recordOwn(line, own, step, whose)
    await recordSeen(line, own, step, whose)
    lines.keep(line)
    return line
  }

  const turnOf = (
    placed: Placed,
    outcome: Turn['outcome'],
    shown: readonly Shown[] | undefined,
    why?: string,
  ): Turn => ({
    outcome,
    conversationId: placed.line.conversationId,
    shown,
    cannotShorten: why,
    async answered(coming, ending, more = {}) {
      try {
        await turns.inTurn(placed.key, async () => {
          const answer = await coming
          if (answer === undefined) return
          if (outcome === 'recorded') await recordAnswer(placed, answer, ending, more)
          else rememberAnswer(placed.line, answer)
        })
        return true
      } catch (error) {
        lines.forget(placed.line.conversationId)
        onProblem(error)
        return false
      }
    },
  })

  async function askInTurn(
    api: Api,
    given: Asked,
    whose: Whose,
    key: string,
    heldAt: HeldAt | undefined,
  ): Promise<Turn> {
    const fixed = heldAt?.conversationId ?? whose.conversationId
    let line = fixed === undefined ? await lineFor(whose, given) : await lines.get(fixed)
    const asked = withHeld(line, whose.isProgram ? withEnd(line, given) : given, heldAt)
    const isErrand = whose.isErrand || isToolless(whose, line, asked)
    const step: Step = isErrand ? { kind: 'side' } : stepOf(line, asked, whose.isProgram)
    const question = whose.isProgram ? summaryQuestion(line, given, asked, step) : undefined
    const summary = question === undefined ? undefined : { from: question, concluded: line.concluded }
    const placed = (context?: Context): Placed => ({
      line,
      key,
      whose,
      length: asked.messages.length,
      last: line.entries[asked.messages.length - 1],
      context,
      summary,
    })
    try {
      if (isErrand) line = await recordBefore(line, asked, whose)
      if (step.kind === 'side') return turnOf(placed(), 'side-call', await errandFor(line, asked, isErrand))
      if (mode === 'observe' || line.maker === 'program') {
        await recordSeen(line, asked, step, whose)
        remember(line, asked)
        const why = mode === 'observe' ? undefined : 'the conversation was begun by observing it'
        return turnOf(placed(), 'recorded', undefined, why)
      }
      line = await recordOwn(line, asked, step, whose)
      remember(line, asked)
      if (asked.held !== undefined) return turnOf(placed(), 'recorded', undefined, 'upstream holds the history')
      const made = await contextFor(line, asked)
      if (typeof made === 'string') return turnOf(placed(), 'recorded', undefined, made)
      return turnOf(placed(made.context), 'recorded', made.shown)
    } catch (error) {
      lines.forget(line.conversationId)
      throw error
    }
  }

  return {
    async ask(api, asked, headers, actor) {
      try {
        const whose = whoseIs(api, asked, headers, actor)
        const heldAt = asked.held === undefined ? undefined : responses.get(asked.held.id)
        if (whose.conversationId === undefined && heldAt === undefined) findBegunAnew(whose, asked)
        const key = heldAt?.key ?? whose.conversationId ?? begunAnew.get(whose.begins)?.key ?? whose.begins
        return await turns.inTurn(key, async () => await askInTurn(api, asked, whose, key, heldAt))
      } catch (error) {
        onProblem(error)
        return bypassed
      }
    },
  }
}

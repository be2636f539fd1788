/**
 * How renderer version 1 made a context fit. Do not change it: the hashes of contexts that agents received are
 * recorded. It shortened the newest message like all others, and omitted pinned messages if nothing else helped. Later
 * versions use `fit.ts`.
 */
import { contentTokens, messageTokens, toolCallTokens, type Estimator } from '../values/tokens.js'
import { capView, capsFor, noteOf, noteTokens, SMALLEST_CAP_TOKENS, viewTokens, type Layout } from './fit.js'
import type { ContentPart, MessageBody, ToolCall } from '../values/message.js'
import { shorten, shortenArguments } from '../conversation/shorten.js'
import { unitTokens, type Unit } from '../conversation/units.js'

function shortenMessage(message: MessageBody, maxTokens: number, where: string, estimator: Estimator): MessageBody {
  const content: MessageBody['content'] =
    contentTokens(message.content, estimator) <= maxTokens
      ? message.content
      : typeof message.content === 'string'
        ? shorten(message.content, maxTokens, where, estimator)
        : (message.content ?? []).map((part): ContentPart =>
            typeof part['text'] === 'string'
              ? { ...part, text: shorten(part['text'], maxTokens, where, estimator) }
              : part,
          )
  if (message.toolCalls === undefined || toolCallTokens(message.toolCalls, estimator) <= maxTokens)
    return { ...message, content }
  const share = Math.max(32, Math.floor(maxTokens / message.toolCalls.length))
  const toolCalls = message.toolCalls.map((call): ToolCall =>
    call.function === undefined
      ? call
      : {
          ...call,
          function: { ...call.function, arguments: shortenArguments(call.function.arguments, share, where, estimator) },
        },
  )
  return { ...message, content, toolCalls }
}

function capUnit(unit: Unit, cap: number, estimator: Estimator): Unit {
  return unit.map((shown) => {
    if (shown.tokens <= cap) return shown
    const body = shortenMessage(shown.body, cap, `message ${shown.source?.messageId ?? ''}`, estimator)
    return { ...shown, body, tokens: messageTokens(body, estimator) }
  })
}

/** Replaces a group that cannot be shortened enough with one message that describes it. */
function describedUnit(unit: Unit, estimator: Estimator): Unit {
  const source = unit[0]?.source
  if (source === undefined) return unit
  const body: MessageBody = {
    role: source.role === 'tool' ? 'user' : source.role,
    content: `[message ${source.messageId} does not fit the model's window; the log has it whole]`,
  }
  return [{ body, source, tokens: messageTokens(body, estimator) }]
}

/** Units from before the window, and units of the window. */
interface Split {
  readonly view: Layout['view']
  readonly retained: readonly Unit[]
  readonly note: string | undefined
  readonly window: readonly Unit[]
}

const splitTokens = (split: Split, estimator: Estimator): number =>
  viewTokens(split.view, estimator) +
  unitTokens(split.retained) +
  noteTokens(split.note, estimator) +
  unitTokens(split.window)

/** Omits as many of the oldest groups as necessary, but never the last one. */
function leaveOutOldest(split: Split, room: number, estimator: Estimator): Split | undefined {
  const frame = splitTokens({ ...split, window: [], note: noteOf(split.window.length) }, estimator)
  let left = room - frame
  let from = split.window.length
  while (from > 0) {
    left -= unitTokens([split.window[from - 1] ?? []])
    if (left < 0) break
    from -= 1
  }
  if (from === split.window.length && split.window.length > 0) return undefined
  return frame <= room
    ? { ...split, note: from === 0 ? undefined : noteOf(from), window: split.window.slice(from) }
    : undefined
}

function fitSplit(whole: Split, room: number, estimator: Estimator): Split {
  let capped = whole
  for (const cap of capsFor(room)) {
    capped = {
      ...whole,
      view: capView(whole.view, cap, estimator),
      window: whole.window.map((unit) => capUnit(unit, cap, estimator)),
    }
    if (splitTokens(capped, estimator) <= room) return capped
  }
  // If even the last group does not fit (an image in a tiny window), a description replaces it, so that the context
  // still ends with it.
  const named = {
    ...capped,
    window: [...capped.window.slice(0, -1), ...capped.window.slice(-1).map((unit) => describedUnit(unit, estimator))],
  }
  for (const split of [capped, named]) {
    for (const frame of [
      split,
      { ...split, view: [] },
      { ...split, view: [], retained: split.retained.map((unit) => capUnit(unit, SMALLEST_CAP_TOKENS, estimator)) },
      { ...split, view: [], retained: [] },
    ]) {
      const left = leaveOutOldest(frame, room, estimator)
      if (left !== undefined) return left
    }
  }
  const nothing: Split = {
    view: [],
    retained: [],
    note: noteOf(whole.retained.length + whole.window.length),
    window: [],
  }
  return splitTokens(nothing, estimator) <= room ? nothing : { ...nothing, note: undefined }
}

/**
 * A layout that fits, by the rules of renderer version 1: pinned messages may be omitted.
 * @param whole everything that could be shown; it does not fit
 * @param isRetained whether a unit is from before the window
 */
export function fitAsBefore(
  whole: Layout,
  isRetained: (unit: Unit) => boolean,
  room: number,
  estimator: Estimator,
): Layout {
  const { view, retained, note, window } = fitSplit(
    {
      view: whole.view,
      retained: whole.units.filter(isRetained),
      note: undefined,
      window: whole.units.filter((unit) => !isRetained(unit)),
    },
    room,
    estimator,
  )
  return {
    openings: [],
    view,
    units: [...retained, ...window],
    note: note === undefined ? undefined : { text: note, at: retained.length },
  }
}

/**
 * Makes a context fit the hard limit. Pinned messages stay word for word, and so does the newest message where it fits
 * beside them; everything else gives way first: what came with the newest message is shown shorter, then all texts are,
 * then the oldest groups are left out, then the view.
 */
import { joinParts, type ViewPart } from '../conversation/clip-archive.js'
import type { LiveMessage } from '../conversation/live-message.js'
import type { MessageBody } from '../values/message.js'
import { shorten, shortenMessage } from './shorten.js'
import { ROLE_TOKENS, messageTokens, type Estimator } from '../values/tokens.js'
import { isPinned, leastOf, unitTokens, type Rendered, type Unit } from './units.js'

/** What is shown behind the leading messages. */
export interface Layout {
  readonly view: readonly ViewPart[]
  readonly units: readonly Unit[]
  /** What says that units are left out, before the unit of this index. */
  readonly note: { readonly text: string; readonly at: number } | undefined
}

export const noteOf = (units: number): string =>
  `[... ${String(units)} earlier messages or call groups are left out here to fit the model's window; they are recorded, and searchable via memory_read ...]`

export const viewTokens = (parts: readonly ViewPart[], estimator: Estimator): number =>
  parts.length === 0 ? 0 : ROLE_TOKENS + estimator.text(joinParts(parts))
export const noteTokens = (text: string | undefined, estimator: Estimator): number =>
  text === undefined ? 0 : ROLE_TOKENS + estimator.text(text)

export const layoutTokens = (layout: Layout, estimator: Estimator): number =>
  viewTokens(layout.view, estimator) + unitTokens(layout.units) + noteTokens(layout.note?.text, estimator)

export const capView = (parts: readonly ViewPart[], cap: number, estimator: Estimator): ViewPart[] =>
  parts.map((part) =>
    part.kind === 'line' ? part : { ...part, text: shorten(part.text, cap, part.batchId, estimator) },
  )

/**
 * Below so many tokens a shortened text says little more than that it is shortened; then whole groups are left out
 * instead.
 */
export const SMALLEST_CAP_TOKENS = 64

/** Caps go down in halves, so that the start of a context seldom changes. */
export function* capsFor(room: number): Generator<number> {
  for (
    let cap = 2 ** Math.floor(Math.log2(Math.max(SMALLEST_CAP_TOKENS, room / 2)));
    cap >= SMALLEST_CAP_TOKENS;
    cap /= 2
  )
    yield cap
}

function capped(shown: Rendered, cap: number, estimator: Estimator): Rendered {
  if (shown.tokens <= cap || shown.source === undefined) return shown
  const body = shortenMessage(shown.body, cap, `message ${shown.source.messageId}`, estimator)
  const tokens = messageTokens(body, estimator)
  return tokens < shown.tokens ? { ...shown, body, tokens } : shown
}

/** The newest message in words, where nothing of it fits. */
function inWords(newest: Rendered, words: string, estimator: Estimator): Unit {
  const body: MessageBody = { role: newest.body.role === 'tool' ? 'user' : newest.body.role, content: words }
  return [{ ...newest, body, tokens: messageTokens(body, estimator) }]
}

/**
 * The layout less as many of its oldest units as it takes, of those that may go; undefined where that does not make it
 * fit. That something is left out is said where there is room to say it.
 */
function leaveOutOldest(
  layout: Layout,
  stays: (unit: Unit) => boolean,
  room: number,
  estimator: Estimator,
): Layout | undefined {
  const may = layout.units.filter((unit) => !stays(unit))
  const fixed = viewTokens(layout.view, estimator) + unitTokens(layout.units.filter(stays))
  if (fixed > room) return undefined
  let left = room - fixed - noteTokens(noteOf(may.length), estimator)
  let from = may.length
  while (from > 0) {
    left -= unitTokens([may[from - 1] ?? []])
    if (left < 0) break
    from -= 1
  }
  if (from === 0) return { ...layout, note: undefined }
  const out = new Set(may.slice(0, from))
  const units = layout.units.filter((unit) => !out.has(unit))
  const text = noteOf(from)
  const isSaid = viewTokens(layout.view, estimator) + unitTokens(units) + noteTokens(text, estimator) <= room
  return { ...layout, units, note: isSaid ? { text, at: layout.units.findIndex((unit) => out.has(unit)) } : undefined }
}

/**
 * A layout that fits. Whoever asks has seen to it that the pinned messages do, with the least of what has to stand
 * beside them.
 * @param whole all that there is to show, which does not fit
 * @param newestId the newest message
 * @param unanswered messages that no answer stands behind: no model was shown them yet
 */
export function fit(
  whole: Layout,
  newestId: string | undefined,
  unanswered: ReadonlySet<LiveMessage>,
  room: number,
  estimator: Estimator,
): Layout {
  const isNewest = (shown: Rendered): boolean => shown.source !== undefined && shown.source.messageId === newestId
  const stays = (unit: Unit): boolean => unit.some((shown) => isPinned(shown) || isNewest(shown))
  const changing = (
    units: readonly Unit[],
    isHeld: (shown: Rendered) => boolean,
    change: (shown: Rendered) => Rendered,
  ): Unit[] => units.map((unit) => unit.map((shown) => (isHeld(shown) ? shown : change(shown))))

  const withNewestWhole = (shown: Rendered): boolean => isPinned(shown) || isNewest(shown)
  for (const isHeld of [withNewestWhole, isPinned]) {
    const least = new Map(
      whole.units
        .filter(stays)
        .map((unit) => [unit, unit.map((shown) => (isHeld(shown) ? shown : leastOf(shown, estimator)))]),
    )
    // Not even alone: then the newest is shown as far as it fits.
    if (unitTokens([...least.values()]) > room) continue
    // Where it is enough that the results beside the newest one are shorter, the context before them stays as the model
    // was shown it, and its cached prefix with it.
    if (isHeld === withNewestWhole && unanswered.size > 1)
      for (const cap of capsFor(room)) {
        const units = changing(whole.units, isHeld, (shown) =>
          shown.source !== undefined && unanswered.has(shown.source) ? capped(shown, cap, estimator) : shown,
        )
        if (layoutTokens({ ...whole, units }, estimator) <= room) return { ...whole, units }
      }
    let smallest = whole
    for (const cap of capsFor(room)) {
      smallest = {
        ...whole,
        view: capView(whole.view, cap, estimator),
        units: changing(whole.units, isHeld, (shown) => capped(shown, cap, estimator)),
      }
      if (layoutTokens(smallest, estimator) <= room) return smallest
    }
    const short = smallest.units.map((unit, at) => least.get(whole.units[at] ?? unit) ?? unit)
    for (const frame of [smallest, { ...smallest, view: [] }, { ...smallest, view: [], units: short }]) {
      const left = leaveOutOldest(frame, stays, room, estimator)
      if (left !== undefined) return left
    }
  }
  // Nothing of the newest fits (a call with twelve results in a tiny window): it is named in words, unless a pin holds
  // its group, so that the context still ends with it.
  const pinned = changing(
    whole.units.filter((unit) => unit.some(isPinned)),
    isPinned,
    (shown) => leastOf(shown, estimator),
  )
  const newest = whole.units.flatMap((unit) => (unit.some(isPinned) ? [] : unit.filter(isNewest)))[0]
  const words = [
    `[message ${newestId ?? ''} does not fit the model's window; the log has it whole]`,
    '[a message left out; the log has it]',
  ]
  const endings = newest === undefined ? [] : words.map((text) => inWords(newest, text, estimator))
  const bare: Layout = { view: [], units: pinned, note: undefined }
  const others = whole.units.length - pinned.length - (newest === undefined ? 0 : 1)
  const note = others === 0 ? undefined : { text: noteOf(others), at: pinned.length }
  const candidates = [
    ...endings.flatMap((ending) => [
      { ...bare, units: [...pinned, ending], note },
      { ...bare, units: [...pinned, ending] },
    ]),
    { ...bare, note },
  ]
  return candidates.find((candidate) => layoutTokens(candidate, estimator) <= room) ?? bare
}

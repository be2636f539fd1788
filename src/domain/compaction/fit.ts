/**
 * Makes a context fit the hard limit. Pinned messages stay word for word, and so does the newest message if it fits
 * together with them. Everything else is reduced in this order: the messages that arrived with the newest one are
 * shortened, then all texts are shortened, then the oldest groups are omitted, then the view.
 */
import { joinParts, type ViewPart } from '../conversation/clip-archive.js'
import type { LiveMessage } from '../conversation/live-message.js'
import type { MessageBody } from '../values/message.js'
import { shorten, shortenMessage } from '../conversation/shorten.js'
import { ROLE_TOKENS, messageTokens, type Estimator } from '../values/tokens.js'
import { isPinned, leastOf, separated, unitTokens, type Rendered, type Unit } from '../conversation/units.js'
import { SEPARATOR, type Inserted } from '../conversation/shape.js'
import type { ShapeRules } from '../values/context-shapes.js'

/** The part of a context after the leading messages. */
export interface Layout {
  /**
   * User messages that can be inserted if the context does not begin with one, from the longest form to the shortest.
   * The first one is shown.
   */
  readonly openings: readonly Inserted[]
  readonly view: readonly ViewPart[]
  readonly units: readonly Unit[]
  /** The note about omitted units, and the index of the unit that it precedes. */
  readonly note: { readonly text: string; readonly at: number } | undefined
}

export const noteOf = (units: number): string =>
  `[... ${String(units)} earlier messages or call groups are left out here to fit the model's window; they are recorded, and searchable via memory_read ...]`

export const viewTokens = (parts: readonly ViewPart[], estimator: Estimator): number =>
  parts.length === 0 ? 0 : ROLE_TOKENS + estimator.text(joinParts(parts))
export const noteTokens = (text: string | undefined, estimator: Estimator): number =>
  text === undefined ? 0 : ROLE_TOKENS + estimator.text(text)

/** The user message that a layout inserts before all others; undefined if it needs none. */
export function openingOf({ openings, units, note }: Layout): Inserted | undefined {
  const isUsers = note?.at === 0 || units[0]?.[0]?.body.role === 'user'
  return isUsers ? undefined : openings[0]
}

export const layoutTokens = (layout: Layout, estimator: Estimator): number =>
  viewTokens(layout.view, estimator) +
  (openingOf(layout)?.tokens ?? 0) +
  unitTokens(layout.units) +
  noteTokens(layout.note?.text, estimator)

export const capView = (parts: readonly ViewPart[], cap: number, estimator: Estimator): ViewPart[] =>
  parts.map((part) =>
    part.kind === 'line' ? part : { ...part, text: shorten(part.text, cap, part.batchId, estimator) },
  )

/** A shorter text would be little more than its own mark, so whole groups are omitted instead. */
export const SMALLEST_CAP_TOKENS = 64

/** Caps are powers of two, so that the start of a context seldom changes. */
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

/** Replaces the newest message with a text, if no part of it fits. */
function describedUnit(newest: Rendered, words: string, estimator: Estimator): Unit {
  const body: MessageBody = { role: newest.body.role === 'tool' ? 'user' : newest.body.role, content: words }
  return [{ ...newest, body, tokens: messageTokens(body, estimator) }]
}

/**
 * Omits as many of the oldest removable units as necessary; undefined if that is not enough. Adds a note about the
 * omitted units if the note fits.
 */
function leaveOutOldest(
  layout: Layout,
  stays: (unit: Unit) => boolean,
  room: number,
  rules: ShapeRules,
  estimator: Estimator,
): Layout | undefined {
  const may = layout.units.filter((unit) => !stays(unit))
  const opening = layout.openings[0]?.tokens ?? 0
  // The first unit that stays may follow an assistant message.
  const separator = rules.callsFollowUser && may.length > 0 ? messageTokens(SEPARATOR, estimator) : 0
  const staying = separated(layout.units.filter(stays), rules, estimator)
  const fixed = viewTokens(layout.view, estimator) + opening + separator + unitTokens(staying)
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
  const units = separated(
    layout.units.filter((unit) => !out.has(unit)),
    rules,
    estimator,
  )
  const note = { text: noteOf(from), at: layout.units.findIndex((unit) => out.has(unit)) }
  const noted = { ...layout, units, note }
  return layoutTokens(noted, estimator) <= room ? noted : { ...noted, note: undefined }
}

/**
 * A layout that fits. The caller has checked that the shortest opening fits together with the shortest form of the
 * pinned units.
 * @param whole everything that could be shown; it does not fit
 * @param newestId the newest message
 * @param unanswered messages after the last assistant message: no model has received them yet
 */
export function fit(
  whole: Layout,
  newestId: string | undefined,
  unanswered: ReadonlySet<LiveMessage>,
  room: number,
  rules: ShapeRules,
  estimator: Estimator,
): Layout {
  const shortest = whole.openings.slice(-1)
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
    // The newest message does not fit even alone: shorten it too.
    if (unitTokens([...least.values()]) > room) continue
    // If shortening the other results that arrived with the newest one is enough, the earlier context stays as the
    // model received it, and its cached prefix stays valid.
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
        openings: whole.openings.filter(({ tokens }, at) => tokens <= cap || at === whole.openings.length - 1),
        view: capView(whole.view, cap, estimator),
        units: changing(whole.units, isHeld, (shown) => capped(shown, cap, estimator)),
      }
      if (layoutTokens(smallest, estimator) <= room) return smallest
    }
    const short = smallest.units.map((unit, at) => least.get(whole.units[at] ?? unit) ?? unit)
    const bare = { ...smallest, openings: shortest, view: [] }
    for (const frame of [smallest, bare, { ...bare, units: short }]) {
      const fitted = leaveOutOldest(frame, stays, room, rules, estimator)
      if (fitted !== undefined) return fitted
    }
  }
  // No part of the newest message fits (a call with twelve results in a tiny window). A text names it, so that the
  // context still ends with it, unless its group is pinned.
  const pinned = changing(
    separated(
      whole.units.filter((unit) => unit.some(isPinned)),
      rules,
      estimator,
    ),
    isPinned,
    (shown) => leastOf(shown, estimator),
  )
  const newest = whole.units.flatMap((unit) => (unit.some(isPinned) ? [] : unit.filter(isNewest)))[0]
  const words = [
    `[message ${newestId ?? ''} does not fit the model's window; the log has it whole]`,
    '[a message left out; the log has it]',
  ]
  const endings = newest === undefined ? [] : words.map((text) => describedUnit(newest, text, estimator))
  const bare: Layout = { openings: shortest, view: [], units: pinned, note: undefined }
  const omittedUnits = whole.units.length - pinned.length - (newest === undefined ? 0 : 1)
  const note = omittedUnits === 0 ? undefined : { text: noteOf(omittedUnits), at: pinned.length }
  const candidates = [
    ...endings.flatMap((ending) => [
      { ...bare, units: [...pinned, ending], note },
      { ...bare, units: [...pinned, ending] },
    ]),
    { ...bare, note },
  ]
  return candidates.find((candidate) => layoutTokens(candidate, estimator) <= room) ?? bare
}

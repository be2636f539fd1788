/** Where something was said: the turn of a message, as a link on the page and as text in a report file. */
import type { Child } from 'hono/jsx'
import { conversationLink } from '../links.js'
import type { TurnOf } from '../reading/turns.js'
import { count } from './text.js'

/** How a view names and links messages. */
export interface Places {
  /** False in report files, which have no links to the page. */
  readonly linked: boolean
  readonly turnOf: TurnOf
}

/** "turn 7", with a preposition if there is one: events before the first message of a user have no turn. */
export const turnName = (turn: number, preposition?: string): string => {
  if (turn === 0) return `${preposition ?? ''} the beginning`.trim()
  return `${preposition ?? ''} turn ${count(turn)}`.trim()
}

/** "turn 7"; the revision if the turn is not known. */
export function turnText(turnOf: TurnOf, c: string, revision: number): string {
  const turn = turnOf(c, revision)
  return turn === undefined ? `event ${count(revision)}` : turnName(turn)
}

/** "turn 7", or "turns 7 to 9"; undefined without the turns. */
export function turnsText(turnOf: TurnOf, c: string, first: number, last: number): string | undefined {
  const [from, to] = [turnOf(c, first), turnOf(c, last)]
  if (from === undefined || to === undefined) return undefined
  if (from === to) return turnName(from)
  return from === 0 ? `the beginning to turn ${count(to)}` : `turns ${count(from)} to ${count(to)}`
}

/** The place of a message, by its turn. Its title has the revision. */
export function MessagePlace({
  c,
  revision,
  messageId,
  places: { linked, turnOf },
}: {
  c: string
  revision: string | number
  messageId: string
  places: Places
}): Child {
  const name = turnText(turnOf, c, Number(revision))
  const title = `event ${count(Number(revision))}`
  return linked ? (
    <a class="facts" href={conversationLink({ c, at: revision, m: messageId })} title={title}>
      {name}
    </a>
  ) : (
    <span class="facts" title={title}>
      {name}
    </span>
  )
}

/** Conversations with their titles, for commands that print ids. */
import type { Titles } from '../../library/titles.js'
import { brief, colours, noteColours, printable } from './output.js'

/** Characters of a title in text. */
export const TITLE_CHARACTERS = 60

/** The title in quotation marks after a blank; empty if there is none. */
export function quotedTitle(conversationId: string, titles: Titles): string {
  const title = titles.get(conversationId)
  return title === undefined ? '' : ` "${brief(title, TITLE_CHARACTERS)}"`
}

/** An id with its title. `paint` is for lines that `note` prints to standard error. */
export const idWithTitle = (
  conversationId: string,
  titles: Titles,
  paint: Pick<typeof noteColours, 'bold'> = colours,
): string => `${paint.bold(printable(conversationId))}${quotedTitle(conversationId, titles)}`

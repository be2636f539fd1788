/** Authors of messages, as ranking compares them. */
import { roleSchema, type Role } from '../values/message.js'
import { termCounts } from './terms.js'

/** An author as one string; `src/application/search/rank.ts` parses it. */
export const authorOf = (role: string, name: string | undefined): string =>
  name === undefined ? role : [role, ...termCounts(name).counts.keys()].join(' ')

/** The role of an author. */
export const roleOf = (author: string): Role => roleSchema.parse(author.split(' ', 1)[0])

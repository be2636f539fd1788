/** Authors of messages, as ranking compares them. */
import { termCounts } from './terms.js'

/** An author as one string; `src/retrieval/rank.ts` parses it. */
export const authorOf = (role: string, name: string | undefined): string =>
  name === undefined ? role : [role, ...termCounts(name).counts.keys()].join(' ')

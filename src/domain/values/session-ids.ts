/** The ids of conversations that are sessions of other programs: `claude-code/SESSION`, `claude-code/scope:SCOPE/SESSION`. */
import { either as E } from 'fp-ts'
import { hashOf } from './hash.js'
import { checkId } from './ids.js'

/** Longest scope that an id contains as it is, in characters after percent-encoding; a longer one is a hash in it. */
const MAX_SCOPE = 200

/** First segment of the ids that the proxy gives. */
export const PROXY_SEGMENT = 'proxy'

const SCOPE_MARK = 'scope:'

const shortHash = (name: string): string => hashOf(name).slice(0, 32)

/** The segment of an id that names the scope. */
const scopeSegment = (scope: string): string => {
  const encoded = encodeURIComponent(scope)
  return `${SCOPE_MARK}${encoded.length > MAX_SCOPE ? shortHash(scope) : encoded}`
}

/**
 * The ledger's conversation id for a session of a program. Each scope has its own ids, so that a tenant cannot take the
 * id of a session of another tenant.
 */
export function sessionConversationId(program: string, sourceId: string, scope?: string): string {
  const prefix = scope === undefined ? program : `${program}/${scopeSegment(scope)}`
  const id = `${prefix}/${sourceId}`
  const isOwn = scope !== undefined || !sourceId.startsWith(SCOPE_MARK)
  return isOwn && E.isRight(checkId('conversationId', id)) ? id : `${prefix}/${shortHash(sourceId)}`
}

/**
 * Whether the id is one that a program or a proxy gives to its conversations, and of another scope.
 * @param programs first segments of such ids
 */
export function isSessionIdOfOther(
  conversationId: string,
  scope: string | undefined,
  programs: ReadonlySet<string>,
): boolean {
  const [program = '', segment = ''] = conversationId.split('/', 2)
  if (!programs.has(program) || !conversationId.includes('/')) return false
  return scope === undefined ? segment.startsWith(SCOPE_MARK) : segment !== scopeSegment(scope)
}

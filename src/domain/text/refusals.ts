/** What the user said when refusing a call: programs put the words into the result of the call. */

/** The text of programs before the user's reason. */
const BECAUSE = /\b(?:the user said|the user provided the following reason[^:\n]{0,80}):\s*(?<words>\S[^]*)/iu
const REFUSED = /\bthe user (?:doesn['’]t|does not) want to (?:proceed|take this action)/iu

/** What a program writes in place of a reason. */
const NO_REASON = /^The user wants to clarify these questions/iu

/** The user's reason for refusing a call, in a result of that call; undefined if it has none. */
export function refusalIn(result: string): string | undefined {
  const words = BECAUSE.exec(result)?.groups?.['words']?.trim()
  return words === undefined || NO_REASON.test(words) ? undefined : words
}

/** Whether a result says that the user refused the call. */
export const isRefusal = (result: string): boolean => REFUSED.test(result) || refusalIn(result) !== undefined

const DECLINES =
  /^(?:no|nope|nah|non|nein|нет|stop|don['’]?t)(?![\p{L}\p{N}])|^(?:いや|いいえ|ダメ|だめ|やめ|不[是要行对對]?|别|別|아니|안 ?돼)/iu

/** Whether a message of the user begins by declining what the agent proposed. */
export const declines = (text: string): boolean => DECLINES.test(text.trim())

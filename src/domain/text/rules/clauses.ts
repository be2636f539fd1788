/** Where the clauses of a sentence begin, so that an imperative may follow. */

const FIRST = /^[^\p{L}\p{N}“"'`]*/u
/** A word that joins the sentence to the one before. */
const FIRST_JOIN = /^[^\p{L}\p{N}“"'`]*(?:and|but|or|also|und|aber|et|mais|y|pero|e|ma|mas|и|но|а),?\s+(?:also\s+)?/u
/** The end of a clause, a dash of a list, or a word after which an imperative follows. */
const ENDS = /[.!?:;,—–("“”„«`]\s*|\s[-*•]\s+|\s(?:so|then|just|instead|if possible|dann|donc|pues|entonces)\s+/gu
/** Words of politeness, and others, between the beginning of a clause and its imperative. */
const BEFORE_IMPERATIVE =
  /(?:please|pls|kindly|bitte|por favor|per favore|пожалуйста|so|then|just|instead|also|dann|pues|entonces),?\s+/uy
/** A word that joins two clauses: the second is an imperative if the first has no subject. */
const JOINS = /\s(?:and|but|or|also|und|aber|et|mais|y|pero|e|ma|mas|и|но|а)\s+/gu
const SUBJECT =
  /(?<![a-zß-ÿа-яё\d])(?:i|we|he|she|they|it|who|that|my|our|ich|wir|er|sie|je|nous|elle|yo|io|eu|я|мы|он|она)(?:['’][a-z]+)?(?![a-zß-ÿа-яё\d])/u

/** The indexes at which a clause of a sentence in lower case begins. */
export function clauseStartsOf(text: string): readonly number[] {
  const starts = new Set([FIRST.exec(text)?.[0].length ?? 0, FIRST_JOIN.exec(text)?.[0].length ?? 0])
  for (const { 0: part, index } of text.matchAll(ENDS)) starts.add(index + part.length)
  let subject: number | undefined
  for (const { 0: part, index } of text.matchAll(JOINS)) {
    subject ??= text.search(SUBJECT)
    if (subject < 0 || subject >= index) starts.add(index + part.length)
  }
  // A set also visits what is added to it meanwhile.
  for (const start of starts) {
    BEFORE_IMPERATIVE.lastIndex = start
    if (BEFORE_IMPERATIVE.test(text)) starts.add(BEFORE_IMPERATIVE.lastIndex)
  }
  return [...starts]
}

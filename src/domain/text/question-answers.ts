/** The user's answers to questions of a tool, in the format in which programs report them: `"question"="answer", …`. */

/** A question with the user's answer. */
export interface QuestionAnswer {
  readonly question: string
  readonly answer: string
}

const BEGINNING = /"(?<question>[^"\n]{1,400})"\s*=\s*"/gu
/** What a program writes after an answer: a copy of it as notes, a preview of the choice, or a closing sentence. */
const AFTER = /"(?:[.,]?\s*(?:user notes|selected [\w ]+):|[.,]?\s*You can now continue)[^]*$/u
/** The end of an answer, and the comma before the next question. */
const END = /"\s*[.,]?\s*$/u

/** The answers in a result, each whole. An answer may have several lines, and quotation marks. */
export function answersIn(result: string): QuestionAnswer[] {
  const beginnings = [...result.matchAll(BEGINNING)]
  return beginnings.map((match, at) => {
    const text = result.slice(match.index + match[0].length, beginnings[at + 1]?.index)
    return { question: match.groups?.['question'] ?? '', answer: text.replace(AFTER, '').replace(END, '').trim() }
  })
}

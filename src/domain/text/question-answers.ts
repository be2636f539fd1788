/**
 * The user's answers to questions: as programs report them in the result of a tool (`"question"="answer", …`), and as a
 * statement has them.
 */

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

const ASKED = 'asked “'
const ANSWERED = '”, answered: '

/** An answer as a statement: the question, and the words of the user. */
export const answerText = ({ question, answer }: QuestionAnswer): string => `${ASKED}${question}${ANSWERED}${answer}`

/** The question and the answer of a statement; undefined if it answers none. */
export function readAnswerText(statement: string): QuestionAnswer | undefined {
  const end = statement.indexOf(ANSWERED)
  if (!statement.startsWith(ASKED) || end < 0) return undefined
  return { question: statement.slice(ASKED.length, end), answer: statement.slice(end + ANSWERED.length) }
}

/** Source code in the output of tools: compilers, linters and test runners show it around an error. */

/** A line with a number and a bar or a colon, with or without a mark of the error. */
const NUMBERED = /^\s*(?:[>→❯×✖✘*-]+\s*)?\d+\s*(?:[|│┃]|:\s{2,}|\s{2,}\S)/u
/** A bar without a number, as below a numbered line. */
const BAR = /^\s*(?:[|│┃╵╷·]|[╭╰├].*[─╯]?)(?:\s|$)/u
/** Marks below code, with or without a bar: `^^^^`, `~~~`. */
const MARKS = /^\s*(?:\d*\s*[|│┃:]\s*)?[\^~‾¯][\^~‾¯\s─┬│╰┘-]*$/u
/** A Python traceback names the place in the line before the code. */
const PLACE = /^\s*File "[^"]+", line \d+/u
/** A line that pytest marks as code. */
const POINTED = /^>\s{2,}\S/u
/** A statement: it raises, defines or catches an error, but reports none. */
const STATEMENT =
  /^\s*(?:[>+-]\s*)?(?:(?:export|public|private|protected|static|async|final|pub)\s+)*(?:throw|raise|return|yield|await|catch|except|rescue|\}\s*catch|def|class|func|fn|function|const|let|var|val|new|import|from|match|case|if|elif|else\s+if|while|for|assert\w*!?|expect|panic!)(?=[\s(!]).*[(){}[\];=:,]\s*$/u

/** The frame before the text of a line. */
const FRAME = /^[\s|│┃╵╷·╭╰├]+/u
/** A text that begins as the report of an error. */
const REPORT = /^(?:\w*(?:Error|Exception)|error|fatal|failed|FAIL(?:ED)?)\b[^(=;]*(?::\s|$)/u

/** Whether a line is code that the output shows, given the lines around it. */
function isCode(line: string, before: string | undefined, after: string | undefined): boolean {
  if (line.trim() === '') return false
  return (
    NUMBERED.test(line) ||
    // A box may show the error itself.
    (BAR.test(line) && !REPORT.test(line.replace(FRAME, ''))) ||
    MARKS.test(line) ||
    POINTED.test(line) ||
    STATEMENT.test(line) ||
    (after !== undefined && MARKS.test(after)) ||
    (before !== undefined && PLACE.test(before) && /^\s/u.test(line))
  )
}

/** The output without the code that it shows. */
export function withoutCode(text: string): string {
  const lines = text.split('\n')
  return lines.filter((line, at) => !isCode(line, lines[at - 1], lines[at + 1])).join('\n')
}

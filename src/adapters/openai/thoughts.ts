/**
 * Removes the thoughts that models write before their answer when a server does not separate them. Only the beginning
 * of a text is changed: a tag later in it belongs to the answer.
 */

/** A text without its thoughts, and whether it had any. */
export interface AnswerText {
  readonly text: string
  readonly hadThoughts: boolean
}

// `think` of DeepSeek and Qwen, `thinking` (QwenLM/qwen-code#10791), `thought` of EXAONE Deep in Ollama
// (tinyhumansai/openhuman#6184).
const OPENING = /^\s*<(think|thinking|thought)>/iu
// Gemma in LM Studio (laurent22/joplin#16595).
const GEMMA = /^\s*<\|channel>[\s\S]*?(?:<channel\|>|$)/u
// The format of gpt-oss (kekzl/imp#768): thoughts are in other channels than the final one.
const HARMONY = /^\s*<\|(?:channel|start)\|>/u
const HARMONY_FINAL = '<|channel|>final<|message|>'
const HARMONY_END = /<\|(?:end|return)\|>[\s\S]*$/u
// The template of some models opens the tag in the prompt, so the answer contains only its end, on a line of its own.
const CLOSING_LINE = /^<\/(?:think|thinking|thought)>[ \t]*\r?$/imu

function withoutLeadingThought(text: string): string | undefined {
  const name = OPENING.exec(text)?.[1]?.toLowerCase()
  if (name !== undefined) {
    const end = new RegExp(`</${name}>`, 'iu').exec(text)
    return end === null ? '' : text.slice(end.index + end[0].length)
  }
  if (GEMMA.test(text)) return text.replace(GEMMA, '')
  if (!HARMONY.test(text)) return undefined
  const final = text.lastIndexOf(HARMONY_FINAL)
  return final === -1 ? '' : text.slice(final + HARMONY_FINAL.length).replace(HARMONY_END, '')
}

/** The answer of a model. A text of thoughts alone, closed or not, gives an empty one. */
export function withoutThoughts(text: string): AnswerText {
  let rest = text
  let hadThoughts = false
  for (let next = withoutLeadingThought(rest); next !== undefined; next = withoutLeadingThought(rest)) {
    rest = next
    hadThoughts = true
  }
  const closing = hadThoughts ? null : CLOSING_LINE.exec(rest)
  if (closing !== null) return { text: rest.slice(closing.index + closing[0].length).trim(), hadThoughts: true }
  return { text: rest.trim(), hadThoughts }
}

/** The part of highlight.js in use. Its own types would add those of a browser to the whole program. */
interface Highlighter {
  getLanguage(name: string): object | undefined
  highlight(
    code: string,
    options: { readonly language: string; readonly ignoreIllegals: true },
  ): { readonly value: string }
}

declare const highlighter: Highlighter
export default highlighter

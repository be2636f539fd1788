/**
 * The file that a row thread runs. It is compiled: a thread does not inherit what makes Node.js understand TypeScript.
 * The tests run from the source, and take this file from what they compile before they begin.
 */
export const ROW_THREAD_FILE = new URL('row-thread-main.js', import.meta.url)

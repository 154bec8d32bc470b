// One class of errors. `kind` is for programs, `message` for people: a fact and a remedy, never a person's value.

/**
 * kind is one of
 *   invalid        an argument or a document is not what it should be
 *   untrusted      the shuffler shows something that the caller did not agree to: nothing was sealed or sent
 *   too_soon       one report per window, by this device's own clock
 *   no_more        all reports are made that the task takes of one person
 *   refused        the shuffler does not take the report; `outcome` says why
 *   not_delivered  the shuffler could not be reached; submit again, and the same report is sent
 *   storage        what was reported before cannot be read or written, so nothing was reported
 */
export class ShuffledpError extends Error {
  constructor(kind, message, details = {}) {
    super(message);
    this.name = "ShuffledpError";
    this.kind = kind;
    Object.assign(this, details);
  }
}

/** Text of others as one line: what would steer a terminal or reorder a line is written out. */
export function visible(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
}

export function invalid(message) {
  return new ShuffledpError("invalid", message);
}

export function untrusted(message) {
  return new ShuffledpError("untrusted", message);
}

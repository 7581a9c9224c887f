import { describe, expect, it } from "vitest";
import { mayAdministrate, mayWrite } from "@/state/rights";

type Rights = NonNullable<Parameters<typeof mayWrite>[0]>;
const base: Rights = { scopes: ["admin"], roles: {}, is_service: false, project: null };
const of = (more: Partial<Rights>): Rights => ({ ...base, ...more });

describe("mayWrite", () => {
  it("needs a scope and a role in the project, or in all", () => {
    expect(mayWrite(of({ roles: { a: "runner" } }), "a")).toBe(true);
    expect(mayWrite(of({ roles: { a: "runner" } }), "b")).toBe(false);
    expect(mayWrite(of({ roles: { "*": "runner" } }), "b")).toBe(true);
    expect(mayWrite(of({ roles: { a: "viewer" } }), "a")).toBe(false);
    expect(mayWrite(of({ roles: { a: "admin" }, scopes: ["runs:read"] }), "a")).toBe(false);
  });

  it("asks a service for its scopes alone", () => {
    expect(mayWrite(of({ is_service: true, scopes: ["runs:write"] }), "a")).toBe(true);
    expect(mayWrite(of({ is_service: true, scopes: ["runs:read"] }), "a")).toBe(false);
  });

  it("ends at the project that the token is bound to", () => {
    const bound = of({ roles: { "*": "admin" }, project: "a" });
    expect(mayWrite(bound, "a")).toBe(true);
    expect(mayWrite(bound, "b")).toBe(false);
  });

  it("is no while nobody is known to be signed in", () => {
    expect(mayWrite(undefined, "a")).toBe(false);
  });
});

describe("mayAdministrate", () => {
  it("needs the role in all projects for the tenant", () => {
    expect(mayAdministrate(of({ roles: { a: "admin" } }), null)).toBe(false);
    expect(mayAdministrate(of({ roles: { "*": "admin" } }), null)).toBe(true);
    expect(mayAdministrate(of({ roles: { a: "admin" } }), "a")).toBe(true);
    expect(mayAdministrate(of({ roles: { a: "runner" } }), "a")).toBe(false);
  });
});

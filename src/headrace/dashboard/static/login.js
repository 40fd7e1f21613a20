// Logs in with the REST call; the response sets the cookie of the session.
import {$, request} from "./shell.js";

$("login").addEventListener("submit", async event => {
  event.preventDefault();
  const {user, password} = event.target.elements;
  try {
    await request("POST", "/api/v1/login", {user: user.value, password: password.value});
    location.assign("/");
  } catch (error) {
    $("login-error").textContent = "✕ " + error.message;
    password.value = "";
    password.focus();
  }
});
